"""Words of actions that cannot be taken back, as data: one row for a kind of action in one language.

Decides from a control's name, or from the words of an address, whether it says such an action. Every language counts on every page. It
errs on the side of yes, because the answer to yes is a question to a person and the answer to no is a click. Forms are those that stand
on controls: imperatives and infinitives, no participles ("Filed reports") and few nouns.

**To add a word:** to its row, folded as control_words.py says, with a name that it must catch and one that only looks like it in
`tests/domain/policy_cases.py`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from tasks.domain.control_words import Words, folded, phrases, says

IRREVERSIBLE: tuple[Words, ...] = (
    Words(
        "en",
        "submit",
        anywhere=phrases(
            "submit, resubmit, submission complete, send, resend, transmit, lodge, hand in, turn in, e file, efile, publish, broadcast, "
            "dispatch, finalize, finalise, finish and file, complete filing, complete submission"
        ),
        first=phrases(
            "file, post, release, deliver, complete, finish, register, enroll, enrol, apply, report now, place"
        ),
    ),
    Words(
        "en",
        "delete",
        anywhere=phrases(
            "delete, remove, erase, destroy, purge, wipe, discard, empty trash, uninstall, overwrite, factory reset, unpublish, shred"
        ),
        first=phrases(
            "format, reformat, drop, reset, trash, clear all, clear data, clear history, restore, revert, merge, archive"
        ),
    ),
    Words(
        "en",
        "pay",
        anywhere=phrases(
            "transfer, remit, pay, make payment, make a payment, confirm payment, send money, purchase, buy, checkout, check out, donate, "
            "place order, place a bid, wire funds, withdraw funds, deposit"
        ),
        first=phrases(
            "wire, order, bid, book, reserve, subscribe, renew, upgrade, redeem, refund, charge, invest, trade, sell"
        ),
    ),
    Words(
        "en",
        "sign",
        anywhere=phrases(
            "sign, esign, e sign, certify, attest, affirm, swear, declare, notarize, notarise, approve, authorize, authorise, confirm, "
            "accept, agree, consent, ratify, endorse, acknowledge, seal"
        ),
        first=phrases("execute, commit, grant, verify and"),
    ),
    Words(
        "en",
        "withdraw",
        anywhere=phrases(
            "withdraw, revoke, rescind, retract, terminate, deactivate, unsubscribe, close account, void, forfeit, waive, decline, reject, "
            "cancel and delete, opt out, disconnect, shut down, shutdown, power off, reboot, restart, kill, abort"
        ),
        more=phrases("cancel"),
    ),
    Words(
        "de",
        "submit",
        anywhere=phrases(
            "absenden, abschicken, senden, einsenden, versenden, einreichen, übermitteln, uebermitteln, abgeben, veröffentlichen, "
            "veroeffentlichen, abschließen, abschliessen, freigeben, melden, übertragen, uebertragen"
        ),
    ),
    Words(
        "de",
        "delete",
        anywhere=phrases(
            "löschen, loeschen, entfernen, vernichten, verwerfen, zurücksetzen, zuruecksetzen, formatieren, deinstallieren, überschreiben"
        ),
    ),
    Words(
        "de",
        "pay",
        anywhere=phrases(
            "zahlen, bezahlen, überweisen, ueberweisen, kaufen, bestellen, zahlungspflichtig, kostenpflichtig, spenden, buchen"
        ),
    ),
    Words(
        "de",
        "sign",
        anywhere=phrases(
            "unterschreiben, unterzeichnen, signieren, bestätigen, bestaetigen, bescheinigen, versichern, genehmigen, zustimmen, "
            "akzeptieren, annehmen, erklären, beglaubigen"
        ),
    ),
    Words(
        "de",
        "withdraw",
        anywhere=phrases(
            "zurückziehen, zurueckziehen, zurücknehmen, widerrufen, kündigen, kuendigen, stornieren, ablehnen, abmelden, konto schließen"
        ),
        more=phrases("abbrechen"),
    ),
    Words(
        "fr",
        "submit",
        anywhere=phrases(
            "soumettre, soumettez, envoyer, envoyez, transmettre, transmettez, déposer, déposez, publier, publiez, finaliser, finalisez, "
            "remettre, télédéclarer"
        ),
    ),
    Words(
        "fr",
        "delete",
        anywhere=phrases(
            "supprimer, supprimez, effacer, effacez, détruire, détruisez, retirer, formater, désinstaller, réinitialiser, vider, écraser"
        ),
    ),
    Words(
        "fr",
        "pay",
        anywhere=phrases(
            "payer, payez, régler, virer, virement, transférer, transférez, acheter, achetez, commander, commandez, verser"
        ),
    ),
    Words(
        "fr",
        "sign",
        anywhere=phrases(
            "signer, signez, certifier, certifiez, attester, attestez, déclarer, déclarez, valider, validez, confirmer, confirmez, "
            "approuver, approuvez, accepter, acceptez, autoriser"
        ),
    ),
    Words(
        "fr",
        "withdraw",
        anywhere=phrases("résilier, révoquer, se désinscrire, clôturer, rejeter, refuser"),
        more=phrases("annuler"),
    ),
    Words(
        "es",
        "submit",
        anywhere=phrases(
            "enviar, envíe, envía, presentar, presente, remitir, transmitir, entregar, publicar, publique, finalizar, finalice, registrar"
        ),
    ),
    Words(
        "es",
        "delete",
        anywhere=phrases(
            "eliminar, elimine, borrar, borre, suprimir, destruir, descartar, formatear, desinstalar, restablecer, sobrescribir, quitar"
        ),
    ),
    Words(
        "es",
        "pay",
        anywhere=phrases("pagar, pague, paga, abonar, transferir, transfiera, comprar, compre, pedir, donar, ingresar"),
    ),
    Words(
        "es",
        "sign",
        anywhere=phrases(
            "firmar, firme, certificar, certifique, atestiguar, declarar, confirmar, confirme, aprobar, validar, autorizar"
        ),
    ),
    Words(
        "es",
        "withdraw",
        anywhere=phrases("retirar, desistir, revocar, rescindir, anular, rechazar, dar de baja, darse de baja"),
        more=phrases("cancelar"),
    ),
)

# Phrases that hold such a word and are no such action.
HARMLESS: tuple[Words, ...] = (
    Words(
        "en",
        "not irreversible",
        anywhere=phrases(
            "sign in, sign up, sign out, sign on, sign off, post code, postcode, file name, order by, sort order, "
            "apply filter, apply filters, clear filter, clear filters, "
            "report id, cancel and return, cancel and go back, cancel changes, remove filter, remove filters, "
            "reset filter, reset filters, how to submit, before you submit, when to submit, not submitted"
        ),
    ),
)

_WORD = re.compile(r"[\s/._~+=&;,:-]+")


@lru_cache(maxsize=4096)
def irreversible(name: str) -> Words | None:
    """The row of the irreversible action that a control's name says, or None."""
    return says(IRREVERSIBLE, name, harmless=HARMLESS)


def irreversible_address(href: str) -> Words | None:
    """The same for a link's address: a part of its path, or of its query, that is such a word as a whole (`/reports/5/delete`)."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return None
    for part in _WORD.sub(" ", unquote(f"{parts.path} {parts.query}")).split():
        word = folded(part)
        found = next((row for row in IRREVERSIBLE if word in row.anywhere), None)
        if found is not None:
            return found
    return None
