"""What can be wrong with templates before anybody is mailed: portal × template × language × sample.

`checking` goes through a portal and asks the rules: about its files (`folders`), its variables (`variables`), each
rendered email (`rendered`, `contrast`, `remote`), and what a second engine makes of it (`second_opinion`). `Matrix`
says it all in one table. Nothing is sent, fetched or stored.
"""

from postroom.templates.checks.checking import check_folders, check_portal, check_template
from postroom.templates.checks.finding import Finding, Severity
from postroom.templates.checks.matrix import Cell, Matrix
from postroom.templates.checks.rendered import check_rendered

__all__ = ["Cell", "Finding", "Matrix", "Severity", "check_folders", "check_portal", "check_rendered", "check_template"]
