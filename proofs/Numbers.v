(** Arithmetic on private numbers and vectors (src/privjail/ops/numbers/combine.py).

    [x] and [x'] are the values of one private number on two neighbours. [Moves d x x'] says that they are at most [d]
    apart. A vector moves element by element. The bounds may be forms over cells: the theorems hold for the value
    of each form at the shares η of the two neighbours at hand. *)

From Coq Require Import List Arith QArith Qabs Qminmax Lqa.
Import ListNotations.
Open Scope Q_scope.

Definition Moves (d x x' : Q) : Prop := - d <= x' - x <= d.

Lemma moves_is_the_absolute_difference : forall d x x', Moves d x x' <-> Qabs (x' - x) <= d.
Proof. intros. unfold Moves. rewrite Qabs_Qle_condition. reflexivity. Qed.

(* op: add *)
Theorem add_distance : forall d e x x' y y', Moves d x x' -> Moves e y y' -> Moves (d + e) (x + y) (x' + y').
Proof. unfold Moves. intros. lra. Qed.

(* op: scale *)
Theorem scale_distance : forall c d x x', Moves d x x' -> Moves (Qabs c * d) (c * x) (c * x').
Proof.
  intros c d x x' near. rewrite moves_is_the_absolute_difference in *.
  setoid_replace (c * x' - c * x) with (c * (x' - x)) by ring. rewrite Qabs_Qmult.
  rewrite !(Qmult_comm (Qabs c)). apply Qmult_le_compat_r; auto. apply Qabs_nonneg.
Qed.

(* op: offset *)
Theorem offset_distance : forall c d x x', Moves d x x' -> Moves d (x + c) (x' + c).
Proof. unfold Moves. intros. lra. Qed.

(* op: absolute *)
Theorem absolute_distance : forall d x x', Moves d x x' -> Moves d (Qabs x) (Qabs x').
Proof.
  unfold Moves. intros d x x' near.
  apply (Qabs_case x); intros; apply (Qabs_case x'); intros; lra.
Qed.

(** Where at most one element of a vector moves, all elements move in one direction, also by their absolute values. *)
(* op: absolute *)
Theorem one_element_moves_in_one_direction : forall (xs xs' : list Q) k,
  (forall i, i <> k -> nth i xs' 0 == nth i xs 0) ->
  (forall i, Qabs (nth i xs 0) <= Qabs (nth i xs' 0)) \/ (forall i, Qabs (nth i xs' 0) <= Qabs (nth i xs 0)).
Proof.
  intros xs xs' k others. destruct (Qlt_le_dec (Qabs (nth k xs 0)) (Qabs (nth k xs' 0))) as [up|down]; [left|right];
  intros i; destruct (Nat.eq_dec i k) as [->|other]; auto; try (apply Qlt_le_weak; auto; fail);
  rewrite (others i other); apply Qle_refl.
Qed.

(* op: public_number *)
Theorem public_number_distance : forall c, Moves 0 c c.
Proof. unfold Moves. intros. lra. Qed.

(** ** Vectors: a list of bounds, one for each element *)

Inductive Each : list Q -> list Q -> list Q -> Prop :=
| Each_nil : Each [] [] []
| Each_cons : forall d x x' ds xs xs', Moves d x x' -> Each ds xs xs' -> Each (d :: ds) (x :: xs) (x' :: xs').

(** Several numbers as one vector. *)
(* op: stack *)
Theorem stack_distance : forall d x x' ds xs xs', Moves d x x' -> Each ds xs xs' -> Each (d :: ds) (x :: xs) (x' :: xs').
Proof. intros. constructor; auto. Qed.

(* op: element *)
Theorem element_distance : forall ds xs xs', Each ds xs xs' -> forall i, Moves (nth i ds 0) (nth i xs 0) (nth i xs' 0).
Proof. induction 1; intros [|i]; simpl; auto; unfold Moves; lra. Qed.

(** Vectors as the columns of a table: the elements of the first row of all columns, of the second row, and so on. *)
Fixpoint column_stack (xs ys : list Q) : list Q :=
  match xs, ys with x :: xs', y :: ys' => x :: y :: column_stack xs' ys' | _, _ => [] end.

(* op: column_stack *)
Theorem column_stack_distance : forall ds xs xs', Each ds xs xs' -> forall es ys ys', Each es ys ys' ->
  Each (column_stack ds es) (column_stack xs ys) (column_stack xs' ys').
Proof.
  induction 1; intros es ys ys' other; destruct other; simpl; try constructor; auto. constructor; auto.
Qed.

Definition total (xs : list Q) : Q := fold_right Qplus 0 xs.

(* op: total *)
Theorem total_distance : forall ds xs xs', Each ds xs xs' -> Moves (total ds) (total xs) (total xs').
Proof. induction 1; simpl; unfold Moves in *; lra. Qed.

Fixpoint largest (x : Q) (xs : list Q) : Q := match xs with [] => x | y :: ys => Qmax x (largest y ys) end.
Fixpoint smallest (x : Q) (xs : list Q) : Q := match xs with [] => x | y :: ys => Qmin x (smallest y ys) end.

Lemma qmax_cases : forall x y, (x <= y /\ Qmax x y == y) \/ (y <= x /\ Qmax x y == x).
Proof. intros x y. destruct (Q.max_spec x y) as [[]|[]]; [left | right]; split; auto; lra. Qed.

Lemma qmin_cases : forall x y, (x <= y /\ Qmin x y == x) \/ (y <= x /\ Qmin x y == y).
Proof. intros x y. destruct (Q.min_spec x y) as [[]|[]]; [left | right]; split; auto; lra. Qed.

(* op: extreme *)
Theorem largest_distance : forall ds xs xs', Each ds xs xs' -> forall d x x', Moves d x x' ->
  Moves (largest d ds) (largest x xs) (largest x' xs').
Proof.
  induction 1 as [|e y y' ds xs xs' near rest IH]; intros d x x' first; simpl; auto.
  specialize (IH _ _ _ near). unfold Moves in *.
  destruct (qmax_cases d (largest e ds)) as [[? m1]|[? m1]], (qmax_cases x (largest y xs)) as [[? m2]|[? m2]],
    (qmax_cases x' (largest y' xs')) as [[? m3]|[? m3]]; rewrite m1, m2, m3; lra.
Qed.

(* op: extreme *)
Theorem smallest_distance : forall ds xs xs', Each ds xs xs' -> forall d x x', Moves d x x' ->
  Moves (largest d ds) (smallest x xs) (smallest x' xs').
Proof.
  induction 1 as [|e y y' ds xs xs' near rest IH]; intros d x x' first; simpl; auto.
  specialize (IH _ _ _ near). unfold Moves in *.
  destruct (qmax_cases d (largest e ds)) as [[? m1]|[? m1]], (qmin_cases x (smallest y xs)) as [[? m2]|[? m2]],
    (qmin_cases x' (smallest y' xs')) as [[? m3]|[? m3]]; rewrite m1, m2, m3; lra.
Qed.

(** ** The bounds are reached *)

Example scaled_by_three : ~ Moves (2 # 1) (3 * 0) (3 * 1).
Proof. unfold Moves. lra. Qed.
Example sums_move_by_the_sum : ~ Moves (1 # 1) (0 + 0) (1 + 1).
Proof. unfold Moves. lra. Qed.
