"""Which Firefox is started, with what profile and environment.

The profile is fresh and quiet: nothing that moves by itself, asks a question, remembers what was typed or talks to the
browser's vendor. Everything opens in the one tab, because a kiosk shows no tabs.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tasks.domain.errors import PermanentError

# Children get this path and not ours: which program is run does not depend on who started the run.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

INSTALL_HINT = (
    "On Debian: apt-get install firefox-esr. On Ubuntu, where the packaged firefox is a snap that cannot be driven, install "
    "Mozilla's own package and name its executable in FILEWRIGHT_BROWSER."
)

PREFERENCES: dict[str, bool | int | str] = {
    # One tab, one window, whatever a page asks for; also what a URL handed over by `navigation.py` opens in.
    "browser.link.open_newwindow": 1,
    "browser.link.open_newwindow.restriction": 0,
    "browser.link.open_newwindow.override.external": 1,
    "browser.tabs.warnOnClose": False,
    "dom.disable_beforeunload": True,
    # First run, upgrades, defaults, terms, suggestions: nothing that covers the page.
    "browser.aboutwelcome.enabled": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.startup.firstrunSkipsHomepage": True,
    "browser.startup.page": 0,
    "browser.startup.homepage": "about:blank",
    "browser.newtabpage.enabled": False,
    "browser.newtab.preload": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.rights.3.shown": True,
    "browser.uitour.enabled": False,
    "browser.messaging-system.whatsNewPanel.enabled": False,
    "browser.newtabpage.activity-stream.asrouter.userprefs.cfr.addons": False,
    "browser.newtabpage.activity-stream.asrouter.userprefs.cfr.features": False,
    "browser.sessionstore.resume_from_crash": False,
    "browser.sessionstore.max_resumed_crashes": 0,
    "datareporting.policy.dataSubmissionPolicyBypassNotification": True,
    "termsofuse.bypassNotification": True,
    "trailhead.firstrun.didSeeAboutWelcome": True,
    "toolkit.startup.max_resumed_crashes": -1,
    "full-screen-api.warning.timeout": 0,
    "security.insecure_field_warning.contextual.enabled": False,
    "browser.translations.enable": False,
    "browser.translations.automaticallyPopup": False,
    "browser.tabs.crashReporting.sendReport": False,
    # Nothing moves by itself: a caret that blinks is a change every half second.
    "ui.caretBlinkTime": 0,
    "ui.prefersReducedMotion": 1,
    "general.smoothScroll": False,
    "toolkit.cosmeticAnimations.enabled": False,
    "layout.css.devPixelsPerPx": "1.0",
    "gfx.webrender.software": True,
    "layers.acceleration.disabled": True,
    "media.autoplay.default": 5,
    # Nothing is remembered, completed or corrected.
    "signon.rememberSignons": False,
    "signon.autofillForms": False,
    "signon.generation.enabled": False,
    "browser.formfill.enable": False,
    "extensions.formautofill.addresses.enabled": False,
    "extensions.formautofill.creditCards.enabled": False,
    "layout.spellcheckDefault": 0,
    "places.history.enabled": False,
    "browser.cache.disk.enable": False,
    "browser.urlbar.suggest.searches": False,
    "browser.search.suggest.enabled": False,
    "browser.download.alwaysOpenPanel": False,
    "browser.download.useDownloadDir": True,
    "browser.download.folderList": 2,
    "permissions.default.camera": 2,
    "permissions.default.microphone": 2,
    "permissions.default.geo": 2,
    "permissions.default.desktop-notification": 2,
    "dom.push.enabled": False,
    "dom.webnotifications.enabled": False,
    # Nothing goes to the vendor. Firefox still looks up a few hosts; only a network namespace stops that.
    "app.update.auto": False,
    "app.update.enabled": False,
    "app.normandy.enabled": False,
    "app.shield.optoutstudies.enabled": False,
    "browser.discovery.enabled": False,
    "browser.ping-centre.telemetry": False,
    "browser.region.network.url": "",
    "browser.region.update.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.safebrowsing.provider.mozilla.updateURL": "",
    "browser.topsites.contile.enabled": False,
    "captivedetect.canonicalURL": "",
    "datareporting.healthreport.uploadEnabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.usage.uploadEnabled": False,
    "dom.serviceWorkers.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.update.enabled": False,
    "extensions.pocket.enabled": False,
    "geo.enabled": False,
    "identity.fxaccounts.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "messaging-system.rsexperimentloader.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.disablePrefetch": True,
    "network.http.speculative-parallel-limit": 0,
    "network.prefetch-next": False,
    "network.trr.mode": 5,
    "nimbus.rollouts.enabled": False,
    "privacy.trackingprotection.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.unified": False,
    "toolkit.telemetry.server": "",
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    # A plain-http portal stays where it is.
    "dom.security.https_first": False,
    "dom.security.https_only_mode": False,
    # The tree is ours to read from the first page on.
    "accessibility.force_disabled": -1,
}


def find_browser(path: Path | None) -> Path:
    """The Firefox to start. Raises PermanentError, with what to do, when there is none that can be driven."""
    if path is not None:
        resolved = shutil.which(str(path), path=SEARCH_PATH)
        if resolved is None:
            raise PermanentError(f"The browser {path} does not exist or cannot be executed. {INSTALL_HINT}")
        if is_snap_stub(Path(resolved)):
            raise PermanentError(f"The browser {path} only starts a snap, which cannot see our profile. {INSTALL_HINT}")
        return Path(resolved)
    for name in ("firefox-esr", "firefox"):
        resolved = shutil.which(name, path=SEARCH_PATH)
        if resolved is not None and not is_snap_stub(Path(resolved)):
            return Path(resolved)
    raise PermanentError(f"No Firefox that can be driven was found on {SEARCH_PATH}. {INSTALL_HINT}")


def is_snap_stub(path: Path) -> bool:
    """True for Ubuntu's `firefox`: a script, or a link, that starts a snap."""
    if "snap" in path.resolve().parts:
        return True
    with path.open("rb") as file:
        head = file.read(4096)
    return head.startswith(b"#!") and b"/snap/" in head


def write_profile(folder: Path, downloads: Path) -> None:
    """Make a profile folder with the quiet preferences."""
    folder.mkdir(parents=True)
    values = {**PREFERENCES, "browser.download.dir": str(downloads)}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in values.items()]
    (folder / "user.js").write_text("\n".join(lines) + "\n", encoding="utf-8")


def command(browser: Path, profile: Path, url: str) -> list[str]:
    return [str(browser), "--profile", str(profile), "--kiosk", url]
