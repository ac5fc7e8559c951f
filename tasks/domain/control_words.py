"""Words on controls, as data: how a control's name is read, and what it says that the control does, besides the irreversible.

Decides from the name alone, in the languages of the rows at once: which language a page is in is the page's word. It never decides what
may be done (targets.py). Words of irreversible actions are in irreversible.py.

Rules
- A name is folded first: compatibility forms, case, accents, invisible characters; what is no letter or digit parts words; letters set
  apart ("S U B M I T") are joined. Rows are written folded.
- A phrase matches whole words: `anywhere` in the name, `first` at its beginning, `whole` as the whole name, `more` at its beginning with
  other words after it.
- A word of letters of two scripts, or of one letter made of others, is *disguised*: nobody writes so by accident.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_APART = re.compile(r"[\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SINGLES = re.compile(r"\b(?:\w ){2,}\w\b")


@dataclass(frozen=True, slots=True)
class Words:
    """Phrases of one `meaning` in one `locale` (BCP 47 language)."""

    locale: str
    meaning: str
    anywhere: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    def match(self, name: str) -> bool:
        """Whether a folded name says one of the phrases."""
        padded = f" {name} "
        return (
            any(f" {phrase} " in padded for phrase in self.anywhere)
            or any(padded.startswith(f" {phrase} ") for phrase in self.first)
            or name in self.whole
            or any(padded.startswith(f" {phrase} ") and name != phrase for phrase in self.more)
        )


def phrases(text: str) -> tuple[str, ...]:
    """`a, b c` as ("a", "b c"), folded."""
    return tuple(folded(part) for part in text.split(",") if part.strip())


@lru_cache(maxsize=4096)  # the controls of a page are asked about at every action
def folded(name: str) -> str:
    """The words of a name, lower case, without accents and invisible characters, one blank between them."""
    plain = unicodedata.normalize("NFKC", _CAMEL.sub(" ", name))
    spaced = "".join(" " if unicodedata.category(c) == "Cc" else c for c in plain if unicodedata.category(c) != "Cf")
    bare = "".join(c for c in unicodedata.normalize("NFKD", spaced.casefold()) if not unicodedata.combining(c))
    words = _APART.sub(" ", bare).strip()
    return _SINGLES.sub(lambda match: match[0].replace(" ", ""), words)


def disguised(name: str) -> bool:
    """Whether a word of the name mixes scripts, so that it reads as another word than it is."""
    plain = unicodedata.normalize("NFKC", name)
    for word in re.findall(r"[^\W\d_]+", plain):
        scripts = {_script(character) for character in word}
        if len(scripts - {""}) > 1:
            return True
    return False


def _script(character: str) -> str:
    """LATIN, CYRILLIC, …: the first word of the character's name; empty for marks and modifier letters, which belong to any."""
    if unicodedata.category(character) in ("Mn", "Mc", "Lm"):
        return ""
    word = unicodedata.name(character, "").partition(" ")[0]
    # Japanese writes three scripts in one word.
    return "CJK" if word in ("CJK", "HIRAGANA", "KATAKANA", "HANGUL") else word


def says(rows: Iterable[Words], name: str, *, harmless: Sequence[Words] = ()) -> Words | None:
    """The first row that the name says, after the `harmless` phrases have been taken out of it."""
    text = folded(name)
    for row in harmless:
        for phrase in row.anywhere:
            text = f" {text} ".replace(f" {phrase} ", "  ").strip()
    text = " ".join(text.split())
    return next((row for row in rows if row.match(text)), None) if text else None


# A click goes on in the form, or keeps what was typed: it can be taken back.
ADVANCE: tuple[Words, ...] = (
    Words(
        "en",
        "goes on or saves",
        first=phrases(
            "continue, next, proceed, go on, save, keep, update, add, create, start, begin, new, insert, duplicate, copy, apply filter, "
            "apply filters, calculate, recalculate, check, review, preview, resume, try again, retry"
        ),
    ),
    Words(
        "de",
        "goes on or saves",
        first=phrases(
            "weiter, fortfahren, fortsetzen, nächste, nächster, nächstes, speichern, zwischenspeichern, sichern, entwurf speichern, "
            "hinzufügen, anlegen, neu, neuer, neue, neues, starten, beginnen, berechnen, prüfen, überprüfen, vorschau, erneut versuchen"
        ),
        whole=phrases("als entwurf speichern, änderungen speichern, bericht anlegen"),
    ),
    Words(
        "fr",
        "goes on or saves",
        first=phrases(
            "continuer, suivant, suivante, poursuivre, enregistrer, sauvegarder, ajouter, créer, nouveau, nouvelle, commencer, démarrer, "
            "calculer, vérifier, aperçu, réessayer"
        ),
    ),
    Words(
        "es",
        "goes on or saves",
        first=phrases(
            "continuar, siguiente, seguir, guardar, añadir, agregar, crear, nuevo, nueva, comenzar, empezar, iniciar, calcular, revisar, "
            "comprobar, vista previa, reintentar"
        ),
    ),
)

# A click shows something else, or leaves things as they are.
LOOK: tuple[Words, ...] = (
    Words(
        "en",
        "looks or goes back",
        first=phrases(
            "find, search, filter, sort, show, hide, view, see, open, close, dismiss, back, go back, previous, return, return to, skip, "
            "edit, change, choose, select, pick, expand, collapse, more, less, details, help, info, menu, refresh, reload, go, "
            "today, stay, stay on page, zoom, play, pause, mute, first, last, up, down, increase, decrease, toggle, clear, not now, no"
        ),
        whole=phrases("cancel, cancel and return, cancel and go back, cancel changes"),
    ),
    Words(
        "de",
        "looks or goes back",
        first=phrases(
            "suchen, finden, filtern, sortieren, anzeigen, zeigen, ansehen, ausblenden, öffnen, schließen, schliessen, zurück, bearbeiten, "
            "ändern, auswählen, wählen, aufklappen, zuklappen, mehr, weniger, hilfe, aktualisieren, heute, nein, leeren"
        ),
        whole=phrases("abbrechen, bericht suchen"),
    ),
    Words(
        "fr",
        "looks or goes back",
        first=phrases(
            "rechercher, chercher, trouver, filtrer, trier, afficher, voir, masquer, ouvrir, fermer, retour, précédent, précédente, "
            "modifier, choisir, sélectionner, plus, moins, aide, actualiser, non"
        ),
        whole=phrases("annuler, aujourd'hui"),
    ),
    Words(
        "es",
        "looks or goes back",
        first=phrases(
            "buscar, encontrar, filtrar, ordenar, mostrar, ver, ocultar, abrir, cerrar, volver, atrás, anterior, editar, modificar, "
            "cambiar, elegir, seleccionar, más, menos, ayuda, actualizar, hoy, no"
        ),
        whole=phrases("cancelar"),
    ),
)

# A box or a field in which a person vouches for something.
CERTIFY: tuple[Words, ...] = (
    Words(
        "en",
        "vouches for something",
        anywhere=phrases(
            "certify, certifies, certification, attest, attests, attestation, affirm, swear, declare, declaration, warrant, "
            "acknowledge, undersigned, perjury, penalty of law, true and correct, true and accurate, i agree, i accept, i consent, "
            "i confirm, i have read, i understand, i authorize, i authorise, terms of, terms and conditions, accept the terms, "
            "agree to, consent to, on behalf of, legally binding"
        ),
    ),
    Words(
        "de",
        "vouches for something",
        anywhere=phrases(
            "versichere, bestätige, bescheinige, bezeuge, erkläre, eidesstattlich, stimme zu, willige ein, akzeptiere, "
            "zur kenntnis genommen, nach bestem wissen, agb, nutzungsbedingungen, rechtsverbindlich"
        ),
    ),
    Words(
        "fr",
        "vouches for something",
        anywhere=phrases(
            "certifie, atteste, déclare, jure, affirme, reconnais, j'accepte, je consens, je confirme, sur l'honneur, "
            "lu et approuvé, conditions générales"
        ),
    ),
    Words(
        "es",
        "vouches for something",
        anywhere=phrases(
            "certifico, declaro, juro, afirmo, atestiguo, doy fe, acepto, consiento, confirmo, bajo juramento, "
            "he leído, términos y condiciones"
        ),
    ),
)

SIGNATURE: tuple[Words, ...] = (
    Words(
        "en",
        "a signature",
        anywhere=phrases("signature, e signature, sign here, signed by, initials, digital signature, initial here"),
    ),
    Words("de", "a signature", anywhere=phrases("unterschrift, signatur, unterzeichnet von")),
    Words("fr", "a signature", anywhere=phrases("signature, signature électronique, signé par, paraphe")),
    Words("es", "a signature", anywhere=phrases("firma, firma electrónica, firmado por, rúbrica")),
)

HUMAN_CHECK: tuple[Words, ...] = (
    Words(
        "en",
        "proves a person",
        anywhere=phrases(
            "captcha, recaptcha, hcaptcha, turnstile, not a robot, verify you are human, verify that you are human, i am human, "
            "human verification, security check, cloudflare challenge, arkose, type the characters, one time code, verification code, "
            "authenticator code, two factor, two step verification, security code"
        ),
    ),
    Words(
        "de",
        "proves a person",
        anywhere=phrases("kein roboter, bin ein mensch, sicherheitscode, bestätigungscode, einmalcode"),
    ),
    Words(
        "fr",
        "proves a person",
        anywhere=phrases("pas un robot, je suis humain, code de vérification, code de sécurité"),
    ),
    Words(
        "es",
        "proves a person",
        anywhere=phrases("no soy un robot, soy humano, código de verificación, código de seguridad"),
    ),
)

# Going in and out of an account.
ACCOUNT: tuple[Words, ...] = (
    Words(
        "en",
        "an account",
        anywhere=phrases(
            "sign in, sign out, sign off, sign on, sign up, log in, log out, log off, log on, login, logout, logoff, signin, signout, "
            "signup, switch user, switch account, create account, create an account, change password, reset password, forgot password"
        ),
    ),
    Words(
        "de",
        "an account",
        anywhere=phrases("anmelden, abmelden, einloggen, ausloggen, konto erstellen, passwort ändern, registrieren"),
    ),
    Words(
        "fr",
        "an account",
        anywhere=phrases(
            "se connecter, connexion, se déconnecter, déconnexion, créer un compte, mot de passe oublié, s'inscrire"
        ),
    ),
    Words(
        "es",
        "an account",
        anywhere=phrases(
            "iniciar sesión, cerrar sesión, crear cuenta, crear una cuenta, cambiar contraseña, registrarse, salir"
        ),
    ),
)

# A control that lets the browser look into this machine's files, or writes to a printer or a file.
FILES: tuple[Words, ...] = (
    Words(
        "en",
        "files of this machine",
        anywhere=phrases(
            "no file selected, no files selected, no file chosen, choose file, choose files, choose a file, select file, select files, "
            "select a file, browse files, upload, attach, attachment, attach file, drop files, import, drag and drop, print"
        ),
        first=phrases("browse"),
    ),
    Words(
        "de",
        "files of this machine",
        anywhere=phrases(
            "keine datei ausgewählt, keine dateien ausgewählt, datei auswählen, hochladen, anhängen, anhang, drucken"
        ),
        first=phrases("durchsuchen"),
    ),
    Words(
        "fr",
        "files of this machine",
        anywhere=phrases("aucun fichier sélectionné, choisir un fichier, téléverser, joindre, pièce jointe, imprimer"),
        first=phrases("parcourir"),
    ),
    Words(
        "es",
        "files of this machine",
        anywhere=phrases(
            "ningún archivo seleccionado, seleccionar archivo, elegir archivo, subir archivo, adjuntar, imprimir"
        ),
        first=phrases("examinar"),
    ),
)

# Answers to a question that stands elsewhere: they say yes to whatever was asked.
ASSENT: tuple[Words, ...] = (
    Words(
        "en",
        "says yes",
        first=phrases("ok, okay, yes, sure, got it"),
        whole=phrases("done, leave page, leave, resend"),
    ),
    Words("de", "says yes", first=phrases("ja, einverstanden, verstanden"), whole=phrases("fertig")),
    Words("fr", "says yes", first=phrases("oui, d'accord"), whole=phrases("terminé")),
    Words("es", "says yes", first=phrases("sí, de acuerdo, aceptar"), whole=phrases("hecho, listo")),
)
