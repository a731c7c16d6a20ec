"""Write `digits.npz`: the 1,797 handwritten digits that scikit-learn ships.

They are the test set of "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak, 1998; UCI Machine
Learning Repository, CC BY 4.0): `images` float32 (1797, 64), 8x8 pixels from 0 to 16, row by row;
`labels` int32 (1797,).  Run once, with scikit-learn installed; the file is in the repository.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

digits = load_digits()
np.savez_compressed(
    Path(__file__).parent / "digits.npz",
    images=digits.data.astype(np.float32),
    labels=digits.target.astype(np.int32),
)
