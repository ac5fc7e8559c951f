"""The words that decide how a sentence stands to the value that it names: one table per effect, nothing else.

A word that ends in a star stands for every word that begins so. To add a word, add it to the table of its effect and add a sentence with
it to the cases of tests/domain/test_verdict.py. A word in no table is not understood, and a person must look: so nothing is lost
by leaving a word out, and something may be by putting one into NEUTRAL.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """A set of words and of beginnings of words, all in lower case."""

    whole: frozenset[str]
    beginnings: tuple[str, ...]

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and (
            word in self.whole or (bool(self.beginnings) and word.startswith(self.beginnings))
        )

    def touches(self, word: str) -> bool:
        """Whether `word` is in the table, or one part of it where it is hyphenated (`non-binding`)."""
        return any(part in self for part in {word, *word.split("-")})


def words(text: str) -> Words:
    entries = text.split()
    return Words(
        frozenset(entry for entry in entries if not entry.endswith("*")),
        tuple(entry[:-1] for entry in entries if entry.endswith("*")),
    )


# Says of the value of its clause that it is not so.
DENIAL = words(
    """
    no not never neither nor none anything nobody nothing nowhere cannot without non hardly scarcely barely nope nah nay
    dont doesnt didnt isnt wasnt arent werent wont wouldnt shouldnt couldnt cant aint hasnt havent hadnt mustnt
    neednt false* wrong* incorrect* inaccura* inexact* untrue untrustworthy unreliable invalid* mistak* mistook
    error* errone* erratum errata corrigend* typo* deny denies denied denying disprov* refut* reject* contrary
    contradict* disclaim* disown* disagree* unlike instead rather opposed fake* fabricat* forg* lie lies lied
    lying hoax bogus fiction* fictiti* invent* hallucinat* nonsense garbage rubbish joke* kidding sarcas*
    except* null nullif* void withdr* rescind* revok* repeal* vacat* retract* cancel* overturn* overrul*
    supersed* obsolete outdated expired disregard* ignor* impossib* unsupported unfounded unproven misquot*
    misread* misstat* misprint* misleading misattribut* misreport* mislabel* debunk* opposite unrelated
    irrelevant inapplicable inconsistent incompatib* mismatch* nonexistent inexistent struck stricken far
    """
)

# Says that the value is somebody's opinion, one of several, or not certain.
HEDGE = words(
    """
    maybe perhaps possib* probab* likely unlikely presum* suppos* assum* guess* estimat* approx* circa ca
    roughly nearly almost sometime somewhere might could would should may if whether unless or either otherwise
    else ish seem* appear* apparent* ostensib* believ* think* thought feel feels suspect* hope hopes hoped
    hopefully doubt* imagin* pretend* recall* remember* unsure uncertain* unclear unknown unverif* unconfirm*
    unresolved undecided undetermined unspecified unstated ambigu* arguabl* plausib* conceivab* vague* tentativ*
    provisional* conditional* contingent pending tbd tba tbc speculat* hypothe* potential* nominal* expect*
    anticipat* forecast* predict* propos* plan plans planned planning intend* purport* alleg* reportedly rumor*
    rumour* hearsay suggest* recommend* commenter* commented asks asked asking say said told heard claimed
    claiming example* e.g eg such similar like comparable some someone somebody somehow anyone any others people
    many critics vendor* colleague* friend* blog* wiki* internet forum* website* chatbot* memory afaik imo iirc
    urg* prefer* comment* warn* fear* wish* writer* opinion* view views debat* controvers* partly half scenario dummy placeholder lorem
    """
)

# Makes a bound of the value that follows: "before March 24, 2020" is another date.
BOUNDS = words(
    """
    about above after around before below between beyond following near over past preceding prior since till
    towards under until upto within
    """
)

# Parts a clause into segments as a comma does.
PARTING = words("although and because but however though whereas while yet")

# Denies and parts: sets something beside the value.
CONTRAST = words("instead opposed rather unlike")

# Sets a whole statement aside as not so; the other words of denial only refute ("no" may just as well correct what stands before it).
SETTING_ASIDE = words("not never neither nor instead opposed rather unlike")

# Opens the segment that says what is so, after one that said what is not.
RESTART = words("actually but instead rather")

# The verb of a new statement.
FINITE = words("are became becomes began begins came comes did is started starts takes took was")

# Points back at what was said before.
POINTING_BACK = words(
    """
    above all answer below both citation date entry everything fact field figure filing he it number page so
    source statement that these they this those value which
    """
)

# The answer by another name: what is denied of it is denied of the value.
ITSELF = words("answer known citation date page so source value")

# Says that the value took the place of what follows.
REPLACING = words("replaces replacing")

# Stands for what was said before.
PRONOUNS = words("this that it these those which he they so both everything all above below")

# A full stop after one of these ends no sentence.
ABBREVIATIONS = words(
    """
    art dept doc dr e eff etc fed g i inc l mr mrs ms no nos p par pg pgs pp pt pub reg s sched sec st u v vol
    """
)

# The name of a date that is none of a form's questions: when the document itself came out.
PUBLICATION = (
    "published",
    "publication",
    "issued",
    "dated",
    "filed",
    "signed",
    "approved",
    "announced",
    "Federal Register of",
)

# Set phrases that are understood as a whole, whatever their words mean alone.
PHRASES: tuple[tuple[str, ...], ...] = tuple(
    tuple(phrase.split())
    for phrase in (
        "by no later than",
        "no later than",
        "not later than",
        "on or before",
        "on or after",
        "on and after",
        "as amended by",
        "may be found",
        "can be found",
        "the change takes effect",
    )
)
