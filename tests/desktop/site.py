"""Pages for a real browser to stand on, served from localhost: each shows what its document has seen.

Element `log` of the events page gets a line for each event, so that a test reads through the accessibility tree what arrived in
the page and not what was sent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EVENTS = """<title>Events</title><style>body{margin:0;font:16px DejaVu Sans} button,input,textarea{position:absolute;font:inherit}
#log{position:absolute;top:300px;left:10px;white-space:pre}
#pad{position:absolute;left:600px;top:20px;width:300px;height:200px;background:#cde}</style>
<button id=b style="left:20px;top:20px;width:200px;height:40px">Submit report</button>
<input aria-label="Report ID" style="left:20px;top:80px;width:300px;height:30px">
<textarea aria-label=Notes style="left:20px;top:130px;width:400px;height:120px"></textarea>
<div id=pad></div><div id=log>-</div><script>
const log=document.getElementById('log');
function say(e,extra){const m=['ctrl','shift','alt','meta'].filter(k=>e[k+'Key']).join('+');
 if(log.textContent==='-')log.textContent='';
 const d=document.createElement('div');d.textContent=`${e.type} ${extra}${m?' '+m:''}`;log.append(d)}
for(const t of ['mousedown','mouseup','click','dblclick','auxclick','contextmenu'])
 addEventListener(t,e=>{say(e,`${e.clientX},${e.clientY} button${e.button} count${e.detail}`);
  if(!['click','mousedown','mouseup'].includes(t))e.preventDefault()});
for(const t of ['keydown','keyup'])
 addEventListener(t,e=>{if(!e.repeat)say(e,JSON.stringify(e.key)+' '+Math.round(performance.now()))});
let moves=0;
document.getElementById('pad').addEventListener('mousemove',e=>{if(e.buttons&1){moves++;document.title='moves '+moves}});
</script>"""

FIELDS = (
    """<title>Fields</title><style>body{font:16px DejaVu Sans} p{margin:8px}</style>
<p><label>Plain <input id=plain style="width:300px"></label>
<p><label>Upper <input style="width:300px" oninput="this.value=this.value.toUpperCase()"></label>
<p><label>Short <input maxlength=5></label>
<p><label>Closed to pasting <input onpaste="return false" value=kept></label>
<p><label>Secret <input type=password value=hunter2secret></label>
<p><label>Notes <textarea style="width:500px;height:100px"></textarea></label>
<p><label>Department <select><option>Pharmacy<option>Cardiology<option>Oncology</select></label>
<p><label>Agree <input type=checkbox checked></label>
<p><a href="/receipt">See the receipt</a>
<p><button>Go "on"&#10;now &#x202e;please """
    + "x" * 300
    + """</button></p>"""
)

RECEIPT = """<title>Receipt</title><h1>Filed</h1><dl><dt>Receipt reference</dt><dd>R-<b>2025</b>-001</dd>
<div><dt>Report ID</dt><dd>QI-2025-014</dd></div><dt>Twice</dt><dd>one</dd><dt>Twice</dt><dd>two</dd></dl>
<p>A paragraph with <a href="/fields">a link</a> inside.</p><p style="display:none">Hidden words</p>
<div style="height:1500px"></div><p>Below the fold</p>"""

TALL = """<title>Tall</title><body style="margin:0;font:16px DejaVu Sans">
<div style="position:fixed;top:10px;left:10px" id=at role=status>at 0,0</div>
<div style="width:4000px;height:6000px;background:linear-gradient(#fff,#88f)"></div>
<script>addEventListener('scroll',()=>{
document.getElementById('at').textContent=`at ${Math.round(scrollX)},${Math.round(scrollY)}`})</script>"""

SPINNER = """<title>Spinner</title><h1>Busy</h1><p id=n>0</p>
<script>let n=0;setInterval(()=>{document.getElementById('n').textContent=++n},30)</script>"""

LINKS = """<title>Links</title><p><a href="/slow" style="position:absolute;left:20px;top:20px">Slow page</a>
<p><a href="/receipt" target=_blank style="position:absolute;left:20px;top:80px">New tab</a>
<p><button style="position:absolute;left:20px;top:140px" onclick="alert('Attention')">Alert</button>"""

COVERED = """<title>Covered</title><body style="margin:0">
<button style="position:absolute;left:0;top:0;width:200px;height:200px">Under</button>
<div role=dialog aria-label=Cover style="position:absolute;left:0;top:0;width:400px;height:300px;background:#eee;z-index:3">words</div>
<button style="position:absolute;left:0;top:450px;width:300px;height:100px">Big <b>words</b></button>
<iframe style="position:absolute;left:500px;top:10px" srcdoc="<button>Framed</button>"></iframe>"""

FORM = """<title>Form</title><body style="margin:0;font:16px DejaVu Sans">
<form action="/receipt"><p><label>Name <input></label> <label><input type=checkbox> I certify that this is so</label>
<p><label>Day <input type=date value=2020-03-24></label> <label>Empty <input type=date></label>
<p><label>Notes <textarea></textarea></label> <label>Proof <input type=file></label>
<p><button type=button>Calculate</button><button>Submit report</button></form>
<p><a href="https://elsewhere.example/x">Elsewhere</a> <a role=button href="/fields">Fields</a> <a href="javascript:void(0)">Script</a>
<p><input aria-label=Alone> <button>Wibble</button>
<div contenteditable aria-label=Remarks style="width:300px"><b>One</b> two<p>three</p></div>
<iframe title=Part srcdoc="<button>Framed</button>" style="height:40px"></iframe>
<iframe src="/slow" title=Own style="height:40px"></iframe>"""

# Controls that the accessibility tree does not have, on the page's ground and in a section of it, and text beside them.
HIDDEN = """<title>Hidden</title><body style="margin:0;font:16px DejaVu Sans"><h1 style="margin:0">Head</h1>
<button aria-hidden=true style="position:absolute;left:20px;top:100px;width:200px;height:40px">Submit report</button>
<main><div aria-hidden=true><button style="position:absolute;left:20px;top:200px;width:200px;height:40px">Submit</button></div></main>
<p style="position:absolute;left:20px;top:300px;width:300px">A line of text</p>"""

# Leaves for another origin of the same machine: at once, on a click by script, or by a redirect.
LEAVING = """<title>Leaving</title><body style="margin:0"><button style="position:absolute;left:20px;top:20px;width:200px;height:40px"
 onclick="location.href='http://localhost:'+location.port+'/receipt'">Continue</button>"""

PAGES = {
    "/form": FORM,
    "/hidden": HIDDEN,
    "/leaving": LEAVING,
    "/events": EVENTS,
    "/fields": FIELDS,
    "/receipt": RECEIPT,
    "/tall": TALL,
    "/spinner": SPINNER,
    "/links": LINKS,
    "/covered": COVERED,
    "/slow": "<title>Slow</title><h1>Here at last</h1>",
    "/blank": "<title>Blank</title><body style='background:#fff'>",
}
SLOW_SECONDS = 1.5


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        page = PAGES.get(path)
        if path == "/slow":
            time.sleep(SLOW_SECONDS)
        if path == "/redirect":
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_address[1]}/receipt")  # type: ignore[attr-defined]
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = f"<!doctype html><meta charset=utf-8>{page or '<title>Not found</title><h1>Not found</h1>'}".encode()
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing: the tests' output is for the tests."""


@contextmanager
def serving() -> Iterator[str]:
    """The base URL of a server that runs while the block does."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
