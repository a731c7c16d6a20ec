"""Language models as Relay programs: `load` gives the program of a model, and its weights.

The programs are the `.relay` files of this folder; docs/language-models.md walks through them.
"""

from relay.models.language_model import LanguageModel as LanguageModel
from relay.models.load import load as load
from relay.models.perplexity import perplexity as perplexity
from relay.models.tokenizer import Tokenizer as Tokenizer
