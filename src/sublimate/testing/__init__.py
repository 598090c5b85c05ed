"""Does a method keep the contract?  One call checks ours and anybody's.

>>> sorted(CHECKS)[0]
'a seed means repeatable'
"""

from .case import Case as Case
from .contract import CHECKS as CHECKS
from .contract import check_case as check_case
from .contract import check_method as check_method
from .toy import Toy as Toy
from .toy import toy_problem as toy_problem
