"""Functions of SciPy and scikit-learn on arrays of `relay.numpy`: as on NumPy's.

A program of its own, `users.py scipy` or `users.py sklearn`, since SciPy reads `SCIPY_ARRAY_API` when it is
imported.  It prints what disagrees, a line each.  Of a word, `/2` is how many arrays the function takes,
`+0.5` a number behind them, `:` two arrays of classes, `@` classes and probabilities, `()` an estimator.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np

import relay

xp = relay.numpy
R = np.random.default_rng(0)
X = R.uniform(0.1, 0.9, (20, 4))
Y = np.tile([0, 1], 10)
SCIPY = {
    "scipy.special": """
        gammaln expit logit erf erfc ndtr log_ndtr entr i0 i0e i1 i1e gamma digamma logsumexp softmax
        log_softmax xlogy/2 rel_entr/2 chdtr/2 betainc/3 stdtr/2
    """,
    "scipy.stats": """
        zscore gmean hmean pmean+2 moment skew kurtosis variation entropy tmean tvar tstd sem describe
        iqr rankdata ttest_1samp+0.5 ttest_ind/2 ttest_rel/2 differential_entropy trim_mean+0.1 gstd
        directional_stats
    """,
    "scipy.integrate": "trapezoid simpson cumulative_trapezoid cumulative_simpson",
    "scipy.signal": "detrend",
    "scipy.optimize": "rosen rosen_der",
    "scipy.cluster.vq": "whiten",
}
SKLEARN = {
    "sklearn.metrics": """
        accuracy_score: zero_one_loss: f1_score: precision_score: recall_score: balanced_accuracy_score:
        confusion_matrix: jaccard_score: hamming_loss: log_loss@ brier_score_loss@ mean_squared_error/2
        mean_absolute_error/2 r2_score/2 max_error/2 explained_variance_score/2 mean_poisson_deviance/2
        mean_gamma_deviance/2 root_mean_squared_error/2 median_absolute_error/2 mean_squared_log_error/2
        d2_tweedie_score/2
    """,
    "sklearn.metrics.pairwise": """
        cosine_similarity euclidean_distances manhattan_distances rbf_kernel linear_kernel
        polynomial_kernel sigmoid_kernel laplacian_kernel paired_cosine_distances/2
        paired_euclidean_distances/2 additive_chi2_kernel chi2_kernel
    """,
    "sklearn.preprocessing": """
        StandardScaler() MinMaxScaler() MaxAbsScaler() Normalizer() Binarizer() PolynomialFeatures()
    """,
    "sklearn.decomposition": "PCA()",
    "sklearn.linear_model": "Ridge(solver='svd') LinearRegression() RidgeClassifier() LogisticRegression()",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis()",
    "sklearn.naive_bayes": "GaussianNB()",
    "sklearn.mixture": "GaussianMixture(init_params='random',random_state=0)",
}


def tried(table: dict[str, str]) -> Iterator[tuple[str, Callable[[Callable[[Any], Any]], Any]]]:
    """Each name, and what runs it on arrays that a function makes of NumPy's."""
    for module, names in table.items():
        for word in names.split():
            yield f"{module}.{word.rstrip(':@').partition('/')[0].partition('+')[0]}", runner(module, word)


def runner(module: str, word: str) -> Callable[[Callable[[Any], Any]], Any]:
    found = import_module(module)
    if word.endswith(")"):
        return lambda make: estimated(eval(f"found.{word}", {"found": found}), make)
    if word.endswith((":", "@")):
        f = getattr(found, word[:-1])
        guess = np.roll(Y, 3) if word.endswith(":") else X[:, 0]
        return lambda make: f(make(Y), make(guess))
    name, _, count = word.partition("/")
    name, _, extra = name.partition("+")
    f = getattr(found, name)
    more = [float(extra)] if extra else []
    data = [X, X[::-1] + 0.1, X[:, ::-1]] if "pairwise" in module or "scipy" in module else [X[:, 0], X[:, 1]]
    return lambda make: f(*[make(np.array(d)) for d in data[: int(count or 1)]], *more)


def estimated(estimator: Any, make: Callable[[Any], Any]) -> Any:
    """What an estimator, fitted to the data, predicts of it, or transforms it to."""
    target = X[:, 0] if type(estimator).__name__ in ("Ridge", "LinearRegression") else Y
    fitted = estimator.fit(make(X), make(target))
    apply = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    return apply(make(X))


def parts(result: Any) -> list[Any]:
    """The arrays of a result."""
    fields = (
        result
        if isinstance(result, tuple)
        else vars(result).values()
        if hasattr(result, "__dict__")
        else [result]
    )
    return [np.asarray(f) for f in (x for f in fields for x in (f if isinstance(f, tuple) else (f,)))]


def main(library: str) -> None:
    if library == "sklearn":
        import_module("sklearn").set_config(array_api_dispatch=True)
    warnings.simplefilter("ignore")
    for name, run in tried(SCIPY if library == "scipy" else SKLEARN):
        try:
            for found, expected in zip(parts(run(xp.asarray)), parts(run(np.asarray)), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:150]}")
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])
