"""The cases of the action policy's rules: for each rule presses that it must catch, and ones that look alike and must be let through.

A case is an action on a scene; `CAUGHT` and `PASSED` list them by rule. What passes may be allowed by any other rule, or, where it is a
control that another rule asks about, be caught by that one: its rule stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tasks.domain.actions import (
    Action,
    Box,
    Click,
    Drag,
    Element,
    HoldKeys,
    MouseDown,
    MouseUp,
    Point,
    PressKeys,
    Scene,
    Target,
    TypeText,
)

HOME = "https://portal.example"
URL = f"{HOME}/drafts/7/attestations"
AT = Point(100, 100)
DOCUMENT = Element("document web", "Step 2", Box(0, 0, 1024, 768), href=URL)
SUBMIT = Element("button", "Submit report", Box(10, 700, 100, 30), states=frozenset({"focusable", "default"}))
NEXT = Element("button", "Continue", Box(10, 700, 100, 30), states=frozenset({"focusable", "default"}))
HEADING = Element("heading", "Attestations", Box(10, 10, 300, 30))
BASE = Scene(1024, 768, AT, url=URL, elements=(HEADING,), origins=(HOME,))


@dataclass(frozen=True)
class Case:
    """`rule` is the rule that must decide, where it is known."""

    action: Action
    scene: Scene
    says: str
    rule: str = ""

    def __str__(self) -> str:
        return self.says


def element(role: str, name: str = "", *, href: str | None = None, states: str = "", tag: str = "") -> Element:
    return Element(role, name, Box(90, 90, 40, 20), None, frozenset(states.split()), href=href, tag=tag)


def at(
    role: str,
    name: str = "",
    *around: Element,
    href: str | None = None,
    states: str = "",
    text: str = "",
    action: Action | None = None,
    others: tuple[Element, ...] = (),
    tag: str = "",
    top: Element | None = DOCUMENT,
    rule: str = "",
    **scene: Any,
) -> Case:
    """A click (or `action`) with the pointer on an element that stands in `around` and the page, or in the browser (`top` None)."""
    one = element(role, name, href=href, states=states, tag=tag)
    target = Target(one, (*around, *((top,) if top else ())), text)
    action = action or Click("left", 1, AT)
    there = replace(BASE, under=target, elements=(HEADING, one, *others), **scene)
    return Case(action, there, f"{_said(action)} on {role} {name!r}{f' to {href}' if href else ''}", rule)


def focus(
    action: Action,
    role: str | None,
    name: str = "",
    *around: Element,
    states: str = "",
    href: str | None = None,
    default: Element | None = None,
    others: tuple[Element, ...] = (),
    rule: str = "",
    **scene: Any,
) -> Case:
    """A key or a text with the focus on an element, or on none."""
    one = element(role, name, href=href, states=states) if role else None
    there = replace(
        BASE,
        focused=Target(one, (*around, DOCUMENT)) if one else None,
        default=Target(default, (DOCUMENT,)) if default else None,
        elements=(HEADING, *((one,) if one else ()), *((default,) if default else ()), *others),
        **scene,
    )
    return Case(
        action, there, f"{_said(action)} with the focus on {role} {name!r}, default {default and default.name!r}", rule
    )


def _said(action: Action) -> str:
    return f"{type(action).__name__}({', '.join(str(getattr(action, name)) for name in action.__slots__)})"


RETURN, SPACE = PressKeys("Return"), PressKeys("space")
FRAME = element("internal frame", "reCAPTCHA")
COMBO = element("combo box", "Department")
LIST = element("list box")
MENU = element("menu")
ALERT = (element("alert", "Saved"), element("label", "Saved"), element("button", "OK"))
CONFIRM = (element("alert", "Really?"), element("button", "OK"), element("button", "Cancel"))

CAUGHT: dict[str, list[Case]] = {
    "page:unread": [
        Case(
            Click("left", 1, AT), replace(BASE, elements=(), under=Target(DOCUMENT)), "a click on a page without a tree"
        ),
        Case(TypeText("x"), replace(BASE, elements=()), "a text on a page without a tree"),
        Case(RETURN, replace(BASE, elements=()), "Return on a page without a tree"),
        Case(SPACE, replace(BASE, elements=()), "a blank on a page without a tree"),
    ],
    "target:none": [
        Case(Click("left", 1, AT), BASE, "a click where nobody can say what is there"),
        Case(Click("left", 3, AT), BASE, "a triple click there"),
        Case(MouseDown(), BASE, "the button pressed there"),
        Case(Drag(AT, Point(5, 5)), replace(BASE, under=Target(HEADING)), "a drag that ends there"),
    ],
    "leave:page": [
        at("button", "Continue", url="https://elsewhere.example/"),
        at("heading", "Hello", url="https://portal.example.evil.example/drafts"),
        at("entry", "Name", url="http://portal.example/drafts"),
        focus(TypeText("x"), "entry", "Name", url="https://elsewhere.example/", states="editable"),
        focus(RETURN, None, url="https://elsewhere.example/"),
        at("button", "Continue", url="data:text/html,hello"),
    ],
    "leave:frame": [
        at(
            "button", "Continue", element("document web", "Ad", href="https://ads.example/x"), element("internal frame")
        ),
        at("entry", "Name", element("document web", "Ad", href="https://ads.example/x"), states="editable"),
        at("check box", "Remember", element("document web", "Pay", href="http://portal.example/pay")),
    ],
    "person:check": [
        at("check box", "I'm not a robot"),
        at("check box", "Verify you are human"),
        at("check box", "", FRAME),
        at("button", "Continue", FRAME),
        at("entry", "Type the characters that you see", states="editable"),
        at("entry", "Verification code", states="editable"),
        at("check box", "Ich bin kein Roboter"),
        at("check box", "No soy un robot"),
        focus(TypeText("123"), "entry", "One-time code", states="editable"),
    ],
    "person:password": [
        at("password text", "Password"),
        at("password text", ""),
        focus(TypeText("hunter2"), "password text", "Password", states="editable"),
        focus(PressKeys("x"), "password text", "Password", states="editable"),
        focus(PressKeys("ctrl+v"), "password text", "Password", states="editable"),
        at("label", "Password", others=(element("password text", "Password"),)),
    ],
    "person:vouch": [
        at("check box", "I certify that the answers are correct"),
        at("check box", "I hereby attest to the above"),
        at("check box", "Under penalty of perjury, I declare …"),
        at("check box", "I agree to the terms of use"),
        at("radio button", "I consent to electronic filing"),
        at("toggle button", "Accept the terms and conditions"),
        at("check box", "", text="I certify that the report is true and correct."),
        at("check box", "Newsletter", text="Newsletter I acknowledge the statement"),
        at("check box", "Hiermit bestätige ich die Angaben"),
        at("check box", "Ich versichere die Richtigkeit"),
        at("check box", "Je certifie sur l'honneur"),
        at("check box", "Declaro bajo juramento"),
        at("label", "I certify that this is so", others=(element("check box", "I certify that this is so"),)),
        focus(SPACE, "check box", "I certify that the answers are correct"),
        focus(PressKeys("Down"), "radio button", "No", others=(element("radio button", "Yes, I certify it"),)),
    ],
    "person:sign": [
        at("entry", "Electronic signature", states="editable"),
        at("entry", "Sign here", states="editable"),
        at("entry", "Unterschrift", states="editable"),
        at("entry", "Firma electrónica", states="editable"),
        focus(TypeText("Jane Doe"), "entry", "Signature of the officer", states="editable"),
    ],
    "files:chooser": [
        at("button", "File Browse… No file selected."),
        at("button", "Upload document"),
        at("button", "Attach"),
        at("button", "Durchsuchen… Keine Datei ausgewählt."),
        at("button", "Parcourir… Aucun fichier sélectionné."),
        at("button", "Examinar… Ningún archivo seleccionado."),
        at("button", "Print this page"),
        at("label", "Proof", others=(element("button", "Proof Browse… No file selected."),)),
        focus(SPACE, "button", "Choose file"),
        focus(RETURN, "button", "Choose file"),
    ],
    "click:menu": [
        at("heading", "Attestations", action=Click("right", 1, AT)),
        at("link", "Home", href=f"{HOME}/", action=Click("right", 1, AT)),
        at("entry", "Name", states="editable", action=Click("right", 1, AT)),
    ],
    "link:scheme": [
        at("link", "Continue", href="javascript:void(0)"),
        at("link", "Continue", href="data:text/html,x"),
        at("link", "Rule", href="file:///etc/passwd"),
        at("link", "Write to us", href="mailto:help@portal.example"),
        at("link", "Call", href="tel:123"),
        at("link", "Settings", href="about:config"),
        at("link", "Source", href="view-source:https://portal.example/"),
        at("link", "Blob", href="blob:https://portal.example/1"),
        at("link", "Shares", href="smb://portal.example/x"),
        at("button", "Continue", href="javascript:go()"),
        focus(RETURN, "link", "Next", href="javascript:go()"),
    ],
    "link:leave": [
        at("link", "Help", href="https://help.example/"),
        at("link", "Help", href="http://portal.example/help"),
        at("link", "Help", href="https://portal.example:8443/help"),
        at("link", "Help", href="https://portal.example.evil.example/"),
        at("link", "Help", href="https://portal.example@evil.example/"),
        at("link", "Help", href="https://user:pw@portal.example/"),
        at("link", "Help", href="https://portal.example\\@evil.example/"),
        at("link", "Help", href="https://sub.portal.example/"),
        at("link", "Help", href="https://xn--prtal-rqa.example/"),
        at("link", "Help", href="https://p\u043ertal.example/"),
        at("link", "Help", href="https://"),
        at("link", "Help", href="https://portal.example:port/"),
        at("static", "words", element("link", "Help", href="https://help.example/")),
        at("image", "logo", element("link", "Help", href="https://help.example/")),
        at("link", "Help", href="http://127.0.0.1/"),
        focus(RETURN, "link", "Help", href="https://help.example/"),
        at("link", "Help", href="https://help.example/", action=MouseUp()),
    ],
    "link:hidden": [
        at("button", "Continue", tag="a"),
        at("menu item", "Next", tag="area"),
        at("button", "Submit report", tag="a", commits=("Submit report",)),
    ],
    "click:new window": [
        at("link", "Home", href=f"{HOME}/", action=Click("left", 1, AT, "ctrl")),
        at("link", "Home", href=f"{HOME}/", action=Click("left", 1, AT, "shift")),
        at("link", "Home", href=f"{HOME}/", action=Click("left", 1, AT, "alt")),
        at("link", "Home", href=f"{HOME}/", action=Click("middle", 1, AT)),
        at("button", "Continue", action=Click("left", 1, AT, "Control_L")),
        at("button", "Submit report", action=Click("left", 1, AT, "shift")),
        focus(PressKeys("shift+Return"), "link", "Home", href=f"{HOME}/"),
    ],
    "account": [
        at("button", "Sign in"),
        at("button", "Log out"),
        at("link", "Sign out", href=f"{HOME}/out"),
        at("button", "Create account"),
        at("link", "Change password", href=f"{HOME}/password"),
        at("button", "Abmelden"),
        at("link", "Se déconnecter", href=f"{HOME}/out"),
        at("button", "Cerrar sesión"),
    ],
    "name:disguised": [
        at("button", "\u0421ontinue"),
        at("button", "\u0405ubmit report"),
        at("link", "N\u0435xt", href=f"{HOME}/next"),
        at("check box", "I c\u0435rtify"),
        at("button", "C\u03bfntinue"),
    ],
    "commit:once": [
        at("button", "Submit report", action=Click("left", 2, AT)),
        at("button", "Delete", action=Click("left", 3, AT)),
        focus(PressKeys("Return", 2), "button", "Submit report"),
        focus(HoldKeys("Return", 1.0), "button", "Submit report"),
        focus(HoldKeys("space", 1.0), "button", "Pay"),
        focus(PressKeys("Return", 5), "entry", "Name", states="editable", default=SUBMIT),
    ],
    "commit:unseen": [
        at("button", "Submit report", complete=False),
        at("button", "Lodge it", complete=False, commits=("Lodge it",)),
    ],
    "commit:brief": [
        at("button", "Submit report", commits=("Submit report",)),
        at("button", "  Hand it \n over ", commits=("Hand it over",)),
        at("link", "Proceed", href=f"{HOME}/x", commits=("Proceed",)),
        at("button", "CONTINUE", commits=("Continue",)),
    ],
    "commit:words": [
        at("button", "Submit report"),
        at("button", "SUBMIT"),
        at("button", "S U B M I T"),
        at("button", "Sub\u00admit"),
        at("button", "Sub\u200bmit now"),
        at("button", "submitReport"),
        at("button", "Ｓｕｂｍｉｔ"),
        at("button", "Continue and submit"),
        at("button", "Save and send"),
        at("button", "File report"),
        at("button", "File now"),
        at("button", "Delete draft"),
        at("button", "Remove row permanently"),
        at("button", "Transfer funds"),
        at("button", "Pay 20.00"),
        at("button", "Confirm payment"),
        at("button", "Buy now"),
        at("button", "Sign"),
        at("button", "Sign and date"),
        at("button", "Certify"),
        at("button", "Approve request"),
        at("button", "Withdraw filing"),
        at("button", "Cancel filing"),
        at("button", "Format disk"),
        at("button", "Uninstall"),
        at("button", "Publish"),
        at("button", "Accept all"),
        at("button", "Agree"),
        at("button", "Finish"),
        at("button", "Reset everything"),
        at("button", "Close account"),
        at("button", "Unsubscribe"),
        at("button", "Absenden"),
        at("button", "Bericht einreichen"),
        at("button", "Löschen"),
        at("button", "Loeschen"),
        at("button", "Zahlungspflichtig bestellen"),
        at("button", "Jetzt überweisen"),
        at("button", "Unterschreiben"),
        at("button", "Formatieren"),
        at("button", "Vertrag kündigen"),
        at("button", "Soumettre le rapport"),
        at("button", "ENVOYEZ"),
        at("button", "Supprimer"),
        at("button", "Payer maintenant"),
        at("button", "Signer"),
        at("button", "Résilier"),
        at("button", "Désinstaller"),
        at("button", "Enviar informe"),
        at("button", "Presentar"),
        at("button", "Eliminar"),
        at("button", "Pagar"),
        at("button", "Firmar"),
        at("button", "Certificar"),
        at("button", "Retirar"),
        at("link", "Delete this report", href=f"{HOME}/reports/7"),
        at("link", "Click here to withdraw the filing", href=f"{HOME}/x"),
        at("menu item", "Delete"),
        at("page tab", "Submit"),
        at("menu item", "Submit report", COMBO),
        at("list item", "Delete draft", LIST),
        at("static", "Report", element("button", "Submit report")),
        at("button", "Submit report", action=MouseDown()),
        at("button", "Submit report", action=MouseUp()),
        at("button", "Submit report", action=Drag(AT, AT), end=Target(SUBMIT, (DOCUMENT,))),
        at("button", "Resend", *CONFIRM),
        focus(RETURN, "button", "Submit report"),
        focus(SPACE, "button", "Submit report"),
        focus(RETURN, "entry", "Name", states="editable", default=SUBMIT),
        focus(TypeText("Jane\n"), "entry", "Name", states="editable", default=SUBMIT),
        focus(RETURN, "check box", "Urgent", default=SUBMIT),
        focus(RETURN, "spin button", "Year", states="editable", default=SUBMIT),
        focus(PressKeys("KP_Enter"), "radio button", "Yes", default=SUBMIT),
        focus(PressKeys("shift+Return"), "entry", "Name", states="editable", default=SUBMIT),
        focus(RETURN, "combo box", "City", states="editable", default=SUBMIT),
    ],
    "commit:address": [
        at("link", "Report 7", href=f"{HOME}/reports/7/delete"),
        at("link", "Go on", href=f"{HOME}/drafts/7/submit"),
        at("link", "Next", href=f"{HOME}/do?action=withdraw"),
        at("link", "Next", href=f"{HOME}/drafts/7/%73ubmit"),
        at("link", "Weiter", href=f"{HOME}/antrag/absenden"),
    ],
    "commit:text": [
        at("section", "Submit report"),
        at("static", "Delete"),
        at("image", "Pay now"),
        at("table cell", "Transfer funds"),
        at("heading", "Submit", states="focusable"),
    ],
    "commit:assent": [
        at("button", "OK", *CONFIRM, top=None),
        at("button", "Yes"),
        at("button", "Yes, go ahead"),
        at("button", "Leave page", *CONFIRM, top=None),
        at("button", "Ja"),
        at("button", "Oui"),
        at("button", "Sí"),
        at("button", "Aceptar"),
        focus(RETURN, "button", "OK", *CONFIRM),
    ],
    "commit:return": [
        focus(RETURN, "entry", "Name", states="editable", others=(replace(SUBMIT, states=frozenset()),)),
        focus(TypeText("Jane\n"), "entry", "Name", states="editable", others=(element("button", "Löschen"),)),
        focus(RETURN, "radio button", "Yes", others=(element("button", "Pay"),)),
    ],
    "check:nameless": [
        at("check box"),
        at("radio button", "\u200b"),
        focus(SPACE, "check box"),
        at("toggle button", " "),
    ],
    "control:unknown": [
        at("button", "Wibble"),
        at("button", ""),
        at("button", "\u200b"),
        at("button", "Frobnicate the widget"),
        at("button", "Launch"),
        at("link", "Thing"),
        at("menu item", "Inspect"),
        at("menu item", "Inspect", MENU, top=None),
        at("button", "提交"),
        at("button", "送信"),
        at("button", "Отправить"),
        focus(SPACE, "button", "Wibble"),
        focus(RETURN, "button", ""),
        at("label", "Colour", others=(element("button", "Colour"),)),
    ],
    "role:unknown": [
        at("canvas"),
        at("canvas", "Continue"),
        at("internal frame"),
        at("embedded", "PDF"),
        at("unknown", "Continue"),
        at("application", "Game"),
        at("", ""),
        at("terminal", "bash"),
        at("colour chooser", "Colour"),
        focus(SPACE, "canvas"),
    ],
    "text:no field": [
        focus(TypeText("hello"), None),
        focus(TypeText("yes please"), "button", "Submit report"),
        focus(TypeText(" "), "button", "Continue"),
        focus(TypeText("\n"), "link", "Home", href=f"{HOME}/"),
        focus(TypeText("x"), "check box", "Urgent"),
        focus(PressKeys("x"), None),
        focus(PressKeys("numbersign"), None),
        focus(PressKeys("Delete"), None),
        focus(PressKeys("BackSpace"), "table"),
        focus(PressKeys("ctrl+v"), None),
        focus(TypeText("Bern"), "canvas", "Map"),
        focus(PressKeys("7"), "button", "Continue"),
    ],
    "text:one field": [
        focus(TypeText("a\tb"), "entry", "Name", states="editable"),
        focus(TypeText("a\nb"), "entry", "Name", states="editable", default=NEXT),
        focus(TypeText("a\r\nyes"), "entry", "Name", states="editable", default=NEXT),
        focus(TypeText("a\n\n"), "entry", "Name", states="editable", default=NEXT),
        focus(TypeText("a\t\n"), "entry", "Name", states="editable", default=NEXT),
        focus(TypeText("a\tb"), "entry", "Notes", states="editable multi-line"),
        focus(TypeText("Pharmacy\t "), "combo box", "Department"),
    ],
}

PASSED: dict[str, list[Case]] = {
    "page:unread": [
        at("document web", "Step 2", rule="text"),
        focus(TypeText("x"), "entry", "Name", states="editable", rule="field"),
    ],
    "target:none": [at("document web", "Step 2", rule="text"), at("section", "", rule="text")],
    "leave:page": [
        at("button", "Continue", url=f"{HOME}/other", rule="button:advance"),
        at("button", "Continue", url="HTTPS://PORTAL.example:443/x", rule="button:advance"),
        at("heading", "Hello", url="about:blank", rule="text"),
        at("button", "Try Again", url="about:neterror?e=connectionFailure", rule="button:advance"),
    ],
    "leave:frame": [
        at("button", "Continue", element("document web", "Part", href=f"{HOME}/part"), rule="button:advance"),
        at("button", "Continue", element("document web", "Part", href="about:srcdoc"), rule="button:advance"),
    ],
    "person:check": [
        at("entry", "Department code", states="editable", rule="field"),
        at("heading", "Security check passed", rule="text"),
        at("button", "Continue", element("section", "Nothing to verify"), rule="button:advance"),
    ],
    "person:password": [
        at("entry", "Password policy of the department", states="editable", rule="field"),
        at("label", "Password rules", rule="text"),
    ],
    "person:vouch": [
        at("check box", "Urgent", rule="check"),
        at("check box", "Send me no newsletter", rule="check"),
        at("radio button", "Second quarter", text="First quarter Second quarter", rule="check"),
        at("check box", "Urgent", text="Urgent " + "words " * 100 + "I certify", rule="check"),
        at("entry", "Which field does the rule require you to certify?", states="editable", rule="field"),
        focus(SPACE, "check box", "Urgent", rule="check"),
        focus(PressKeys("Down"), "radio button", "No", others=(element("radio button", "Yes"),), rule="check"),
    ],
    "person:sign": [
        at("entry", "Name", states="editable", rule="field"),
        at("entry", "Design of the form", states="editable", rule="field"),
    ],
    "files:chooser": [
        at("link", "Attachments", href=f"{HOME}/attachments", rule="link:own"),
        at("link", "Upload guide", href=f"{HOME}/guide", rule="link:own"),
        at("button", "Open details", rule="button:look"),
    ],
    "click:menu": [at("heading", "Attestations", action=Click("left", 3, AT), rule="text")],
    "link:scheme": [
        at("link", "Home", href=f"{HOME}/", rule="link:own"),
        at("link", "javascript: how to", href=f"{HOME}/javascript:", rule="link:own"),
    ],
    "link:leave": [
        at("link", "Home", href=f"{HOME}/", rule="link:own"),
        at("link", "Home", href="https://PORTAL.EXAMPLE/reports", rule="link:own"),
        at("link", "Home", href="https://portal.example:443/reports", rule="link:own"),
        at("link", "Home", href="https://portal.example./reports", rule="link:own"),
        at("link", "Filed reports", href=f"{HOME}/reports?next=https://evil.example", rule="link:own"),
        at("link", "A field is empty: submit an answer", href=f"{URL}#citation", rule="link:own"),
        at("button", "Start a new report", href=f"{HOME}/reports/new", rule="link:own"),
        at(
            "link",
            "Home",
            href="http://127.0.0.1:8000/x",
            url="http://127.0.0.1:8000/",
            origins=("http://127.0.0.1:8000",),
            rule="link:own",
        ),
        focus(RETURN, "link", "Filed reports", href=f"{HOME}/reports", rule="link:own"),
        focus(SPACE, "link", "Help", href="https://help.example/", rule="key:page"),
    ],
    "link:hidden": [
        at("button", "Continue", tag="button", rule="button:advance"),
        at("button", "Continue", tag="a", changes=("Continue",), rule="brief:change"),
        at("button", "Continue", tag="a", href=f"{HOME}/next", rule="link:own"),
    ],
    "click:new window": [
        at("heading", "Attestations", action=Click("left", 1, AT, "shift"), rule="text"),
        at("entry", "Name", states="editable", action=Click("left", 1, AT, "ctrl"), rule="field"),
        at("entry", "Name", states="editable", action=Click("middle", 1, AT), rule="field"),
    ],
    "account": [
        at("button", "Show log", rule="button:look"),
        at("link", "Logs in the archive", href=f"{HOME}/logs", rule="link:own"),
        at("heading", "Sign in", rule="text"),
    ],
    "name:disguised": [
        at("button", "Continue →", rule="button:advance"),
        at("link", "Überblick für Ärzte", href=f"{HOME}/u", rule="link:own"),
        at("link", "Отчёты", href=f"{HOME}/u", rule="link:own"),
    ],
    "commit:once": [
        at("button", "Continue", action=Click("left", 2, AT), rule="button:advance"),
        focus(PressKeys("Return", 2), "entry", "Name", states="editable", default=NEXT, rule="button:advance"),
        focus(PressKeys("Return", 4), "entry", "Notes", states="editable multi-line", default=SUBMIT, rule="field"),
    ],
    "commit:unseen": [at("button", "Continue", complete=False, rule="button:advance")],
    "commit:brief": [
        at("button", "Continue", commits=("Submit report",), rule="button:advance"),
        at("heading", "Hand it over", commits=("Hand it over",), rule="text"),
        at("button", "Submit step 1", changes=("Submit step 1",), rule="brief:change"),
        at("button", "Abschnitt B", changes=("Abschnitt B",), rule="brief:change"),
    ],
    "commit:words": [
        at("button", "Continue to attestations", rule="button:advance"),
        at("button", "Next", rule="button:advance"),
        at("button", "Save draft", rule="button:advance"),
        at("button", "Save and continue", rule="button:advance"),
        at("button", "Continue to review", rule="button:advance"),
        at("button", "Find report", rule="button:look"),
        at("button", "Back", rule="button:look"),
        at("button", "Cancel", rule="button:look"),
        at("button", "Cancel changes", rule="button:look"),
        at("button", "Apply filters", rule="button:advance"),
        at("button", "Weiter", rule="button:advance"),
        at("button", "Entwurf speichern", rule="button:advance"),
        at("button", "Zurück", rule="button:look"),
        at("button", "Suivant", rule="button:advance"),
        at("button", "Annuler", rule="button:look"),
        at("button", "Siguiente", rule="button:advance"),
        at("button", "Guardar borrador", rule="button:advance"),
        at("button", "Cancelar", rule="button:look"),
        at("button", "›", rule="button:sign"),
        at("button", "2", rule="button:sign"),
        at("button", "Department", states="has-popup", rule="button:opens"),
        at("button", "Details", states="expandable", rule="button:opens"),
        at("link", "Filed reports", href=f"{HOME}/reports", rule="link:own"),
        at("link", "Change attestations", href=f"{HOME}/drafts/7/attestations", rule="link:own"),
        at("link", "RCT-2025-7F3A", href=f"{HOME}/receipts/7", rule="link:own"),
        at("page tab", "Section B", rule="tab"),
        at("menu item", "Delete", COMBO, tag="option", rule="choice"),
        at("menu item", "Submit", MENU, states="selectable", top=None, rule="choice"),
        at("list item", "Withdraw", LIST, tag="option", rule="choice"),
        at("list item", "Oncology", LIST, rule="choice"),
        at("combo box", "Submit to", rule="field"),
        at("entry", "Amount to transfer", states="editable", rule="field"),
        at("slider", "Pay", rule="field"),
        at("label", "Name", others=(element("entry", "Name", states="editable"),), rule="field"),
        at("button", "Continue", action=MouseDown(), rule="button:advance"),
        focus(RETURN, "entry", "Name", states="editable", default=NEXT, rule="button:advance"),
        focus(TypeText("Jane\n"), "entry", "Name", states="editable", default=NEXT, rule="button:advance"),
        focus(RETURN, "entry", "Notes", states="editable multi-line", default=SUBMIT, rule="field"),
        focus(RETURN, "menu item", "Oncology", COMBO, rule="choice"),
        focus(RETURN, "combo box", "Department", default=SUBMIT, rule="field"),
        focus(SPACE, "entry", "Name", states="editable", default=SUBMIT, rule="field"),
        focus(RETURN, None, others=(SUBMIT,), rule="key:page"),
        focus(SPACE, "check box", "Urgent", default=SUBMIT, rule="check"),
    ],
    "commit:address": [
        at("link", "Report 7", href=f"{HOME}/submissions/7", rule="link:own"),
        at("link", "New report", href=f"{HOME}/reports/new", rule="link:own"),
        at("link", "Review", href=f"{HOME}/drafts/7/review", rule="link:own"),
    ],
    "commit:text": [
        at("paragraph", "By submitting you attest that the answers are correct.", rule="text"),
        at("paragraph", "You may delete the draft at any time before the end of the quarter.", rule="text"),
        at("heading", "Filed reports", rule="text"),
        at("table cell", "460-ET", rule="text"),
        at("section", "", states="focusable", rule="text"),
    ],
    "commit:assent": [
        at("button", "OK", *ALERT, top=None, rule="alert"),
        at("button", "Cancel", *CONFIRM, top=None, rule="button:look"),
        at("button", "No", rule="button:look"),
    ],
    "commit:return": [
        focus(RETURN, "entry", "Name", states="editable", others=(NEXT,), rule="key:return"),
        focus(RETURN, "entry", "Name", states="editable", rule="key:return"),
    ],
    "check:nameless": [at("check box", "Urgent", rule="check"), at("radio button", "1", rule="check")],
    "control:unknown": [
        at("button", "Show more", rule="button:look"),
        at("button", "×", rule="button:sign"),
        at("button", "Add row", rule="button:advance"),
        at("button", "Calendar", states="expandable", rule="button:opens"),
    ],
    "role:unknown": [
        at("section", "Nothing special", rule="text"),
        at("image", "Logo", rule="text"),
        at("list", rule="text"),
        at("spin button", "Month", rule="field"),
        at("date editor", "Date", states="editable", rule="field"),
        at("section", "A note", states="editable focusable multi-line", rule="field"),
    ],
    "text:no field": [
        focus(TypeText("March 24, 2020"), "entry", "Effective date", states="editable", rule="field"),
        focus(TypeText("Pharmacy"), "combo box", "Department", rule="field"),
        focus(TypeText("Onc"), "menu item", "Pharmacy", COMBO, rule="choice"),
        focus(TypeText("03"), "spin button", "Month", rule="field"),
        focus(PressKeys("ctrl+a"), None, rule="key:looks"),
        focus(PressKeys("Down"), None, rule="key:moves"),
        focus(PressKeys("x"), "entry", "Name", states="editable", rule="field"),
        focus(PressKeys("ctrl+v"), "entry", "Name", states="editable", rule="field"),
        focus(PressKeys("Tab"), "button", "Submit report", rule="key:looks"),
        focus(PressKeys("Escape"), None, rule="key:looks"),
        focus(PressKeys("F5"), None, rule="key:loads"),
    ],
    "text:one field": [
        focus(TypeText("a\nb"), "entry", "Notes", states="editable multi-line", rule="field"),
        focus(TypeText("first line\r\n\r\nsecond"), "entry", "Notes", states="editable multi-line", rule="field"),
        focus(TypeText("a\t"), "entry", "Name", states="editable", rule="field"),
        focus(TypeText("a\t"), "entry", "Notes", states="editable multi-line", rule="field"),
    ],
}
