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
    opinion* view views debat* controvers* partly half scenario dummy placeholder lorem
    """
)

# May be harmless and may turn the statement: a person must look.
UNSETTLED = words(
    """
    exclud* fail* lack* absent absence missing omit* replac* prohibit* forbid* forbad* disallow* eliminat*
    remov* delet* strike avoid* stop* cease* abandon* discontinu* violat* exempt* unequal improper*
    inappropriate different* differ differs discrepan* dispute* unavailable request* question* ask instance
    delay* postpon* defer* extend* extension reschedul* moved moves moving change changed changes changing
    amend* revis* later sooner earlier earliest latest draft* former* previous* prior old older original*
    initial* once historic* past outgoing interim next alternativ* depend* sample test try trying attempt* check
    verify compare* versus vs cf argu* contend* maintain* consider* deem* target* goal* aim aims aimed outlook
    sort kind subject end ends ended ending expire* terminat* sunset* conclud* suspend* clos* less more fewer
    few plus minus only half two three four five six seven eight nine ten week weeks confus* voluntar* partly
    another other mention* impermissib* unlawful* illegal* concern*
    """
)

# Makes a bound of the value that follows: "before March 24, 2020" is another date.
BOUNDS = words(
    """
    about above after around before below between beyond following near over past preceding prior since till
    towards under until upto within
    """
)

# Adds nothing to a plain statement of a fact and its source.
NEUTRAL = words(
    """
    a an the this that these those it its it's he she they them their there there's here we our us i my you your
    one ones each both same which who whom whose what when where how is are was were be been being am has have
    had do does did will shall must can need needs needed of on in at by to for from with into onto under per
    via as than then thus so also too just exactly precisely namely i.e ie viz upon through throughout during
    against among and but because since while whereas although though however yet well respectively answer
    answers answered value values date dates day days month year time deadline field fields number numbers nos
    id ids identifier identifiers code codes name names named called known titled entitled labeled labelled
    designated element elements data item items standard standards document documents doc docs file pdf page
    pages p pp pg source sources citation citations cite cites cited citing reference references ref refs see
    text passage paragraph section sections table column columns line row heading header footnote preamble
    summary part parts title chapter rule rules ruling regulation regulations regulatory final finalized
    finalised official officially federal register notice law legal legally statute act order modification
    modifications modified modify modifies adopt adopts adopted adopting adoption effective effect take takes
    taking took enter enters entered entering force come comes coming came go goes going live become becomes
    became begin begins beginning start starts started starting apply applies applied applicable compliance
    comply complies complying compliant complied covered entity entities required require requires requiring
    requirement requirements mandatory mandated mandates obligated obliged due meet state states stated stating
    says specify specifies specified specifying provide provides provided providing give gives given giving set
    sets establish establishes established fix fixes fixed show shows shown list lists listed indicate indicates
    indicated indicating identify identifies identified identifying describe describes described contain
    contains contained carry carries carried carrying found find read reads according accordance pursuant based
    support supports supported supporting note notes noted define defines defined designate designates mean
    means meaning refer refers referred correspond corresponds use uses used using distinguish distinguishes
    distinguished distinguishing differentiate differentiates tell tells mark marks marked report reports
    reported reporting record records recorded fill fills filled partial partially prescription prescriptions
    pharmacy pharmacies schedule ii drug drugs controlled substance substances retail billing transaction
    transactions ncpdp hipaa hhs cms cfr fr usc department secretary agency publish published publication issue
    issued issuance dated signed filed first above aforementioned full whole complete correct right true indeed
    yes confirmed verified clear clearly certain certainly explicitly expressly directly current currently now
    still already itself themselves follows follow below st nd rd th u.s d s ll re ve fact facts information
    quarter annual telecommunication implementation guide version release
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
FINITE = words("are became becomes began begins came comes is started starts takes took was")

# Points back at what was said before.
POINTING_BACK = words(
    """
    above all answer below both citation date entry everything fact field figure filing he it number page so
    source statement that these they this those value which
    """
)

# Tells the value from what it is not, and so names both.
DISTINGUISHING = frozenset(
    {
        "distinguish",
        "distinguishes",
        "distinguishing",
        "distinguished",
        "differentiate",
        "differentiates",
        "tell",
        "tells",
        "from",
    }
)

# The answer by another name: what is denied of it is denied of the value.
ITSELF = words("answer known citation date page so source value")

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
