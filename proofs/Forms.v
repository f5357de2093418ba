(** Forms beyond linear ones, vectors, and tables that are made from a region of cells
    (src/privjail/plan/distance.py, plan/cells.py). *)

From Coq Require Import List QArith Qminmax Lqa Lia ZArith Bool.
From PrivJail Require Import Distance Rows Cells Budget.
Import ListNotations.
Open Scope Q_scope.

Section Forms.
Context {P K : Type} (same_p : forall x y : P, {x = y} + {x <> y}) (same_k : forall x y : K, {x = y} + {x <> y}).
Notation address := (list (P * K)).
Notation form := (list (list (P * K) * Q)).

(** ** Maxima: one linear form that is never smaller *)

Definition first_form (terms : list (address * (Q * Q))) : form := map (fun '(a, (x, _)) => (a, x)) terms.
Definition second_form (terms : list (address * (Q * Q))) : form := map (fun '(a, (_, y)) => (a, y)) terms.
Definition flattened (terms : list (address * (Q * Q))) : form := map (fun '(a, (x, y)) => (a, Qmax x y)) terms.

(** max(Σ xᵢ·ηᵢ, Σ yᵢ·ηᵢ) ≤ Σ max(xᵢ, yᵢ)·ηᵢ. *)
Theorem a_maximum_is_below_its_flattened_form : forall eta terms, Below eta ->
  Qmax (value eta (first_form terms)) (value eta (second_form terms)) <= value eta (flattened terms).
Proof.
  intros eta terms shares. apply Q.max_lub; unfold value, first_form, second_form, flattened;
  (induction terms as [|[a [x y]] terms IH]; simpl; [lra|]); pose proof (shares_are_not_negative eta shares a) as pos.
  - pose proof (Qmult_le_compat_r _ _ _ (Q.le_max_l x y) pos). lra.
  - pose proof (Qmult_le_compat_r _ _ _ (Q.le_max_r x y) pos). lra.
Qed.

(** ** Euclidean norms: where each element is c·η(one cell), the square of the norm is at most the cost of the squares *)

Definition squares (cs : form) : form := map (fun '(a, c) => (a, c * c)) cs.
Definition norm_squared (eta : address -> Q) (cs : form) : Q := sum_over (fun '(a, c) => (c * eta a) * (c * eta a)) cs.

Lemma every_share_is_at_most_1 : forall eta : address -> Q, Shares eta -> forall a, 0 <= eta a <= 1.
Proof.
  intros eta [shares whole] a. split; [apply shares_are_not_negative; auto|].
  pose proof (ancestors_have_more eta shares a []) as less. simpl in less. lra.
Qed.

Theorem euclidean_norm : forall n eta cs, Shares eta -> Depth n cs ->
  norm_squared eta cs <= cost same_p same_k n (squares cs).
Proof.
  intros n eta cs shares deep. apply Qle_trans with (value eta (squares cs)).
  - clear deep. unfold norm_squared, value, squares. induction cs as [|[a c] cs IH]; simpl; [lra|].
    pose proof (every_share_is_at_most_1 eta shares a) as [low high].
    assert (0 <= c * c) by nra. assert (eta a * eta a <= eta a) by nra.
    assert (c * eta a * (c * eta a) <= c * c * eta a); [|lra].
    setoid_replace (c * eta a * (c * eta a)) with ((eta a * eta a) * (c * c)) by ring.
    setoid_replace (c * c * eta a) with (eta a * (c * c)) by ring. apply Qmult_le_compat_r; auto.
  - apply cost_is_never_exceeded; auto; intros a c there; unfold squares in there; apply in_map_iff in there;
    destruct there as ([a' c'] & e & there); injection e as <- <-.
    + eapply deep; eauto.
    + nra.
Qed.

(** ** A table that is made from a region of cells

    A slice, a window, … of the rows in the cells p₁, p₂, … starts a new base. At most [most]·Σ η(pᵢ) of its rows are edited.
    The edits are shared out among the pᵢ in proportion. This gives shares below each pᵢ that fit under η(pᵢ), and the edits
    of the base in any of its own cells are [most] times the sum of these shares. *)
Section Region.
Context {A : Type} (key : P -> A -> K) (edited : list A) (most : Q) (region : list Q).
Hypothesis some : 0 < most.
Hypothesis not_negative : forall x, In x region -> 0 <= x.

Definition number (l : list A) : Q := inject_Z (Z.of_nat (length l)).
Definition all_shares : Q := sum_over (fun x => x) region.
Hypothesis bound : number edited <= most * all_shares.

(** The share, below a cell with share [x], of the edits of the base that lie in the cell [a] of the base. *)
Definition shared_out (x : Q) (a : address) : Q :=
  if Qlt_le_dec 0 all_shares then x / all_shares * (number (filter (in_cell same_k key a) edited) / most) else 0.

Lemma number_not_negative : forall l, 0 <= number l.
Proof. intros l. unfold number. rewrite <- (Zle_Qle 0). lia. Qed.

Lemma number_less : forall l r, (length l <= length r)%nat -> number l <= number r.
Proof. intros l r less. unfold number. rewrite <- Zle_Qle. lia. Qed.

Lemma sum_of_numbers : forall (X : Type) (f : X -> list A) l,
  sum_over (fun x => number (f x)) l == inject_Z (Z.of_nat (Rows.total (map (fun x => length (f x)) l))).
Proof.
  intros X f l. induction l as [|x l IH]; simpl; [reflexivity|]. rewrite IH. unfold number.
  rewrite Nat2Z.inj_add, inject_Z_plus. reflexivity.
Qed.

Lemma factor_not_negative : forall x, 0 <= x -> 0 < all_shares -> 0 <= x / all_shares / most.
Proof.
  intros x pos total. unfold Qdiv. apply Qmult_le_0_compat; [apply Qmult_le_0_compat; auto|];
  apply Qinv_le_0_compat; lra.
Qed.

Theorem a_base_shares_out_its_edits :
  (forall x, In x region -> Below (shared_out x) /\ shared_out x [] <= x) /\
  (forall a, number (filter (in_cell same_k key a) edited) == most * sum_over (fun x => shared_out x a) region).
Proof.
  unfold shared_out. destruct (Qlt_le_dec 0 all_shares) as [total|none].
  - split.
    + intros x there. specialize (not_negative x there). pose proof (factor_not_negative x not_negative total) as part.
      split; [split|].
      * intros a. pose proof (number_not_negative (filter (in_cell same_k key a) edited)).
        setoid_replace (x / all_shares * (number (filter (in_cell same_k key a) edited) / most))
          with (number (filter (in_cell same_k key a) edited) * (x / all_shares / most)) by (field; split; lra).
        apply Qmult_le_0_compat; auto.
      * intros a g ks distinct.
        setoid_replace (x / all_shares * (number (filter (in_cell same_k key a) edited) / most))
          with ((x / all_shares / most) * number (filter (in_cell same_k key a) edited)) by (field; split; lra).
        rewrite (sum_same _ (fun k => (x / all_shares / most) * number (filter (in_cell same_k key (a ++ [(g, k)])) edited)))
          by (intros; field; split; lra).
        rewrite sum_scaled, !(Qmult_comm (x / all_shares / most)). apply Qmult_le_compat_r; auto.
        rewrite sum_of_numbers. unfold number. rewrite <- Zle_Qle. apply inj_le.
        etransitivity; [|apply (groups_share_rows A K same_k (key g) ks (filter (in_cell same_k key a) edited) distinct)].
        apply Nat.eq_le_incl. f_equal. apply map_ext. intros k. f_equal. unfold group. clear.
        induction edited as [|y l IH]; simpl; auto. unfold in_cell in *. rewrite forallb_app. simpl. rewrite andb_true_r.
        destruct (forallb _ a); simpl; rewrite IH; auto.
      * setoid_replace (x / all_shares * (number (filter (in_cell same_k key []) edited) / most))
          with ((x / all_shares / most) * number (filter (in_cell same_k key []) edited)) by (field; split; lra).
        apply Qle_trans with ((x / all_shares / most) * (most * all_shares)).
        -- rewrite !(Qmult_comm (x / all_shares / most)). apply Qmult_le_compat_r; auto.
           eapply Qle_trans; [apply number_less, filter_shortens | exact bound].
        -- apply Qle_lteq. right. field. split; lra.
    + intros a. set (here := number (filter (in_cell same_k key a) edited)).
      rewrite (sum_same _ (fun x => (here / most / all_shares) * x)) by (intros; field; split; lra).
      rewrite sum_scaled. fold all_shares. field. split; lra.
  - assert (zero : all_shares == 0).
    { assert (0 <= all_shares) by (apply sum_nonnegative; auto). lra. }
    assert (nobody : number edited == 0).
    { pose proof (number_not_negative edited). rewrite zero in bound. lra. }
    split.
    + intros x there. specialize (not_negative x there). split; [split|]; intros; try lra.
      rewrite sum_of_zeros; [lra | reflexivity].
    + intros a. rewrite sum_of_zeros by reflexivity.
      pose proof (number_not_negative (filter (in_cell same_k key a) edited)).
      pose proof (number_less _ _ (filter_shortens A (in_cell same_k key a) edited)). lra.
Qed.
End Region.
End Forms.
