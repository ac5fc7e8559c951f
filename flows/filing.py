"""Filing: one report, filed once, through the screen."""

from __future__ import annotations

from prefect import flow
from prefect.states import Completed, State

from tasks import filing as boxes


@flow(name="filing", flow_run_name="file {report_id} {quarter} {department}")
def filing(report_id: str, quarter: str, department: str, corpus: str = "sample", form: str = "qi-report") -> State:
    """File one report in the portal, if it is not there yet.

    Args:
        report_id: the report's own ID, e.g. QI-2025-014.
        quarter: the quarter that the report is about, e.g. Q3 2025.
        department: the department that reports, e.g. Pharmacy.
        corpus: the corpus whose open index answers regulatory questions.
        form: the form to fill, a folder below the corpus' filings.
    """
    generation = boxes.open_index(corpus)
    receipt = boxes.file_report(
        corpus=corpus,
        form=form,
        report_id=report_id,
        quarter=quarter,
        department=department,
        generation_id=generation,
    )
    if receipt.already and not receipt.ours:
        return Completed(name="AlreadyFiled", message=f"{report_id} was filed before, receipt {receipt.reference}.")
    return Completed(message=f"{report_id} is filed, receipt {receipt.reference}.")
