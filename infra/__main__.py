"""`python3 -m infra COMMAND`: runs with the standard library alone until the environment exists, then inside it."""

from infra.commands import main

raise SystemExit(main())
