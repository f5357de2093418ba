"""What scikit-learn has and these models lack: why, and what to type instead."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NoReturn

from privjail.errors import UnknownName

_ROWS = "it has an entry for each private row"
_FITTED: list[tuple[str, str, str]] = [
    (_ROWS, "predict them as a private column: df['cluster'] = model.predict(df[columns])", "labels_ fit_predict"),
    ("it is a sum over all rows, which no round asks for", "measure it: (X - centre) ** 2, summed and released",
     "inertia_"),
    ("it is not kept here", "fit without the column and compare: learn.cross_val_score(model, X, y, eps=1)",
     "feature_importances_ best_params_ cv_results_ oob_score_"),
    ("noise decides when to stop", "the rounds are in the bill: model.bill", "n_iter_ loss_curve_"),
    ("the model is a table of effects of bins", "tables_ holds the effect of each bin; stats.logistic_regression "
     "and learn.Ridge have coefficients", "coef_"),
    ("a model is fitted in one piece", "model.fit(X, y, eps=1)", "partial_fit"),
    ("fitting and drawing are two steps", "model.fit(df, eps=1).sample(100)", "fit_sample fit_resample"),
]  # fmt: skip
_CHEAP = (
    "learn.AdditiveClassifier, learn.LogisticRegression, learn.DecisionTreeClassifier, learn.RandomForestClassifier"
)
_MODULE: list[tuple[str, str]] = [
    ("a random part of the private rows: `train = df.sample(frac=0.8)`; scores on rows that were held out: "
     "`learn.cross_val_score(learn.LogisticRegression(), X, y, eps=1)`",
     "train_test_split KFold StratifiedKFold ShuffleSplit GroupKFold cross_validate cross_val_predict"),
    ("scores for each choice of parameters: `[learn.cross_val_score(learn.DecisionTreeClassifier(max_depth=d), X, y, "
     "eps=1).mean() for d in (2, 4)]`", "GridSearchCV RandomizedSearchCV"),
    (f"use one of {_CHEAP}",
     "SVC LinearSVC SGDClassifier MLPClassifier KNeighborsClassifier GradientBoostingClassifier AdaBoostClassifier "
     "HistGradientBoostingClassifier ExtraTreesClassifier XGBClassifier LGBMClassifier BernoulliNB MultinomialNB"),
    ("use one of learn.AdditiveRegressor, learn.Ridge, learn.LinearRegression",
     "SVR SGDRegressor Lasso ElasticNet LassoCV RidgeCV DecisionTreeRegressor RandomForestRegressor "
     "GradientBoostingRegressor HistGradientBoostingRegressor KNeighborsRegressor MLPRegressor XGBRegressor"),
    ("use learn.KMeans", "DBSCAN AgglomerativeClustering GaussianMixture MiniBatchKMeans SpectralClustering"),
    ("use learn.PCA", "TruncatedSVD NMF TSNE KernelPCA FastICA"),
    ("use learn.StandardScaler, or divide by the range of the schema: df['a'] / df['a'].domain.upper",
     "MinMaxScaler RobustScaler MaxAbsScaler Normalizer PowerTransformer QuantileTransformer"),
    ("codes of a category follow from the schema: df['g'].cat.codes; indicators: learn.OneHotEncoder()",
     "LabelEncoder OrdinalEncoder LabelBinarizer TargetEncoder"),
    ("fill with what you release: df['a'].fillna(df['a'].mean(eps=1))", "SimpleImputer KNNImputer"),
    ("scikit-learn's own work on public predictions: sklearn.metrics; on private rows: `model.score(X, y, eps=1)`",
     "accuracy_score roc_auc_score f1_score confusion_matrix mean_squared_error r2_score classification_report"),
    ("scikit-learn's own take our steps: sklearn.pipeline.make_pipeline(learn.StandardScaler(), learn.Ridge())",
     "Pipeline make_pipeline ColumnTransformer make_column_transformer FeatureUnion"),
]  # fmt: skip


def lacks(model: Any, name: str) -> NoReturn:
    """An attribute that is not there: of a model that is not fitted, one that scikit-learn has, or one misspelt."""
    kind = type(model).__name__
    if name == "bill" or (name.endswith("_") and "bill" not in vars(model)):
        raise UnknownName(f"this {kind} is not fitted, so it has no {name!r}", do="model.fit(X, y, eps=1)")
    for why, do, names in _FITTED:
        if name in names.split():
            raise UnknownName(f"{kind} has no {name!r}: {why}", do=do)
    ours = [n for n in (*dir(type(model)), *vars(model)) if not n.startswith("_")]
    near = get_close_matches(name, ours, n=3)
    do = f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(sorted(set(ours)))}"
    raise UnknownName(f"{kind} has no {name!r}", do=do)


def instead_of(name: str) -> str | None:
    """What to type instead of a name of scikit-learn."""
    return next((do for do, names in _MODULE if name in names.split()), None)


def not_offered(name: str, ours: list[str]) -> NoReturn:
    """A name of scikit-learn that is not in privjail.learn."""
    if name.startswith("_"):
        raise AttributeError(f"module 'privjail.learn' has no attribute {name!r}")
    do = instead_of(name)
    near = get_close_matches(name, ours, n=3)
    told = do or (f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(ours)}")
    raise UnknownName(f"privjail.learn has no {name!r}", do=told)
