(** Sums of one vector for each row (src/privjail/ops/numbers/vector_sum.py), and rounding that keeps a norm
    (src/privjail/ops/columns/norms.py). Elements are whole numbers of steps of a public grid. *)

From Coq Require Import List ZArith Lia.
From PrivJail Require Import Distance Rows Values.
Import ListNotations.
Open Scope Z_scope.

(** ** Toward zero

    [toward_zero g x] is the multiple of the step [g] that is next to [x] on the side of zero. *)

Definition toward_zero (g x : Z) : Z := g * Z.quot x g.

Lemma toward_zero_shrinks : forall g x, 0 < g -> Z.abs (toward_zero g x) <= Z.abs x.
Proof.
  intros g x pos. unfold toward_zero. pose proof (Z.quot_rem' x g) as parts.
  destruct (Z.le_ge_cases 0 x) as [up|down].
  - pose proof (Z.rem_nonneg x g ltac:(lia) up). pose proof (Z.quot_pos x g up pos). nia.
  - pose proof (Z.rem_nonpos x g ltac:(lia) down).
    pose proof (Z.quot_pos (- x) g ltac:(lia) pos) as neg. rewrite (Z.quot_opp_l x g) in neg by lia. nia.
Qed.

(** L1, the square of L2, and L∞ of a vector. *)
Fixpoint norm1 (v : list Z) : Z := match v with [] => 0 | x :: v' => Z.abs x + norm1 v' end.
Fixpoint square (v : list Z) : Z := match v with [] => 0 | x :: v' => x * x + square v' end.
Fixpoint peak (v : list Z) : Z := match v with [] => 0 | x :: v' => Z.max (Z.abs x) (peak v') end.

(** A row whose elements are moved toward zero, each on a grid of its own, is no longer than before, in any norm. *)
(* op: truncate *)
Theorem toward_zero_keeps_norms : forall (v : list (Z * Z)), (forall g x, In (g, x) v -> 0 < g) ->
  let moved := map (fun p => toward_zero (fst p) (snd p)) v in let whole := map snd v in
  norm1 moved <= norm1 whole /\ square moved <= square whole /\ peak moved <= peak whole.
Proof.
  induction v as [|[g x] v IH]; intros pos; cbn [map norm1 square peak fst snd]; [lia|].
  destruct IH as (one & two & inf); [intros; apply (pos g0 x0); right; auto|].
  pose proof (toward_zero_shrinks g x (pos g x (or_introl eq_refl))).
  assert (toward_zero g x * toward_zero g x <= x * x) by (rewrite <- (Z.abs_square x), <- (Z.abs_square (toward_zero g x)); nia).
  repeat split; try lia.
Qed.

(** ** Sums of vectors

    [norm] is any norm of vectors: the sum moves by at most the number of edits times the largest norm of a row. *)

Section Sums.
Context {A V : Type} (zero : V) (plus : V -> V -> V) (minus : V -> V -> V) (norm : V -> Z) (vector : A -> V).
Hypothesis norm_zero : norm zero = 0.
Hypothesis triangle : forall x y, norm (plus x y) <= norm x + norm y.
Hypothesis difference : forall x y, norm (minus x y) <= norm x + norm y.

Fixpoint vector_sum (l : list A) : V := match l with [] => zero | x :: l' => plus (vector x) (vector_sum l') end.

Lemma sum_is_no_longer_than_its_rows : forall most l, (forall x, norm (vector x) <= most) ->
  norm (vector_sum l) <= most * Z.of_nat (length l).
Proof.
  intros most l bound. induction l as [|x l IH]; cbn [vector_sum length]; [rewrite norm_zero; lia|].
  pose proof (triangle (vector x) (vector_sum l)). specialize (bound x). lia.
Qed.

(** What comes in and what goes out, as vectors: together they are as many rows as there are edits. *)
(* op: vector_sum *)
Theorem vector_sum_distance : forall most n l r ins del, 0 <= most -> (forall x, norm (vector x) <= most) ->
  Script ins del l r -> (length ins + length del <= n)%nat ->
  norm (minus (vector_sum ins) (vector_sum del)) <= most * Z.of_nat n.
Proof.
  intros most n l r ins del pos bound s few.
  pose proof (sum_is_no_longer_than_its_rows most ins bound). pose proof (sum_is_no_longer_than_its_rows most del bound).
  pose proof (difference (vector_sum ins) (vector_sum del)). nia.
Qed.
End Sums.

(** The sums of two tables differ by what comes in less what goes out, in every column (so as vectors). *)
(* op: vector_sum *)
Theorem vector_sum_moves_by_its_edits : forall (A : Type) (columns : list (A -> Z)) ins del l r, Script ins del l r ->
  map (fun value => sum value r - sum value l) columns = map (fun value => sum value ins - sum value del) columns.
Proof. intros A columns ins del l r s. apply map_ext. intros value. apply sum_moves; auto. Qed.

(** ** Products: the squares of all products of two vectors add up to the product of their squares *)

Definition outer (v w : list Z) : list Z := flat_map (fun x => map (Z.mul x) w) v.

Lemma square_app : forall v w, square (v ++ w) = square v + square w.
Proof. induction v; intros; cbn [app square]; [lia|]. rewrite IHv. lia. Qed.

Lemma square_scaled : forall x w, square (map (Z.mul x) w) = x * x * square w.
Proof. induction w; cbn [map square]; [lia|]. rewrite IHw. ring. Qed.

(* op: vector_sum *)
Theorem outer_products_have_the_product_of_norms : forall v w, square (outer v w) = square v * square w.
Proof.
  unfold outer. induction v; intros; cbn [flat_map square]; [lia|]. rewrite square_app, square_scaled, IHv. ring.
Qed.

(** ** Rounding to the nearest step would not do *)

Example nearest_exceeds : let nearest x := 10 * ((x + 5) / 10) in
  square [6; 6] < square (map nearest [6; 6]).
Proof. reflexivity. Qed.
