"""`python -m relay` is the command line."""

from relay.cli.main import main

raise SystemExit(main())
