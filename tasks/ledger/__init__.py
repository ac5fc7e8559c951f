"""The ledger: filings, attempts with leases, the journal of each attempt, verdicts."""
