(** Counts, sums and scores of a table (src/privjail/ops/numbers/: tally.py, distinct.py, quantile_scores.py). All of them are whole numbers
    of steps of a public grid, so they are proved over the integers. *)

From Coq Require Import List Arith ZArith Lia Bool.
From PrivJail Require Import Distance Rows.
Import ListNotations.
Open Scope Z_scope.

Fixpoint sum {A : Type} (value : A -> Z) (l : list A) : Z :=
  match l with [] => 0 | x :: l' => value x + sum value l' end.

Definition count {A : Type} (l : list A) : Z := sum (fun _ => 1) l.

Section Values.
Context {A : Type}.
Implicit Types (l r ins del : list A) (value : A -> Z).

Lemma sum_app : forall value l r, sum value (l ++ r) = sum value l + sum value r.
Proof. induction l; cbn [sum app]; intros; auto. rewrite IHl. lia. Qed.

Lemma count_is_the_number_of_rows : forall l, count l = Z.of_nat (length l).
Proof. unfold count. induction l; cbn [sum length]; lia. Qed.

(** What comes in, less what goes out. *)
Lemma sum_moves : forall value ins del l r, Script ins del l r ->
  sum value r - sum value l = sum value ins - sum value del.
Proof. induction 1; cbn [sum]; lia. Qed.

Lemma sum_is_bounded : forall value most l, (forall x, Z.abs (value x) <= most) ->
  Z.abs (sum value l) <= most * Z.of_nat (length l).
Proof.
  intros value most l bound. induction l as [|x l IH]; cbn [sum length]; [lia|]. specialize (bound x). lia.
Qed.

Lemma sum_is_between : forall value low high l, (forall x, low <= value x <= high) ->
  low * Z.of_nat (length l) <= sum value l <= high * Z.of_nat (length l).
Proof.
  intros value low high l bound. induction l as [|x l IH]; cbn [sum length]; [lia|]. specialize (bound x). lia.
Qed.

(** ** One number *)

(* op: tally *)
Theorem count_distance : forall i d l r, Within i d l r -> Z.abs (count r - count l) <= Z.of_nat (max i d).
Proof.
  intros i d l r (ins & del & s & ? & ?). unfold count. rewrite (sum_moves _ _ _ _ _ s).
  change (Z.abs (count ins - count del) <= Z.of_nat (max i d)). rewrite !count_is_the_number_of_rows. lia.
Qed.

(* op: tally *)
Theorem sum_distance : forall value most n l r, 0 <= most -> (forall x, Z.abs (value x) <= most) -> Apart n l r ->
  Z.abs (sum value r - sum value l) <= most * Z.of_nat n.
Proof.
  intros value most n l r pos bound (ins & del & s & few). rewrite (sum_moves _ _ _ _ _ s).
  pose proof (sum_is_bounded value most ins bound). pose proof (sum_is_bounded value most del bound). nia.
Qed.

(** Values that are never negative: what comes in pushes up, what goes out pulls down, and the larger of both counts. *)
Theorem sum_of_one_sign_distance : forall value most i d l r, 0 <= most -> (forall x, 0 <= value x <= most) ->
  Within i d l r -> Z.abs (sum value r - sum value l) <= most * Z.of_nat (max i d).
Proof.
  intros value most i d l r pos bound (ins & del & s & ? & ?). rewrite (sum_moves _ _ _ _ _ s).
  pose proof (sum_is_between value 0 most ins bound). pose proof (sum_is_between value 0 most del bound).
  assert (most * Z.of_nat (length ins) <= most * Z.of_nat (max i d)) by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (most * Z.of_nat (length del) <= most * Z.of_nat (max i d)) by (apply Z.mul_le_mono_nonneg_l; lia).
  lia.
Qed.

(** What comes in adds between [low] and [high], what goes out takes away between [low] and [high]: [sum_distance] of
    plan/rows.py. *)
(* op: tally *)
Theorem net_sum_distance : forall value low high i d l r, (forall x, low <= value x <= high) -> Within i d l r ->
  let up := Z.max high 0 in let down := Z.max (- low) 0 in
  Z.abs (sum value r - sum value l) <=
    Z.max (up * Z.of_nat i + down * Z.of_nat d) (down * Z.of_nat i + up * Z.of_nat d).
Proof.
  intros value low high i d l r bound (ins & del & s & few & few') up down. rewrite (sum_moves _ _ _ _ _ s).
  pose proof (sum_is_between value low high ins bound) as a. pose proof (sum_is_between value low high del bound) as b.
  assert (low >= - down /\ high <= up /\ 0 <= up /\ 0 <= down) as (? & ? & ? & ?) by (subst up down; lia).
  assert (forall n m, (n <= m)%nat -> high * Z.of_nat n <= up * Z.of_nat m /\ - down * Z.of_nat m <= low * Z.of_nat n) as far
    by (intros; split; nia).
  destruct (far _ _ few). destruct (far _ _ few'). nia.
Qed.

(** Whatever comes and goes, no edit moves a sum by more than the largest absolute value: [sum_distance] takes the
    smaller of both bounds. *)

(** Where rows only come in, a sum of values of one sign only grows: all groups move in the same direction. *)
Theorem sums_only_grow : forall value ins l r (p : A -> bool), (forall x, 0 <= value x) -> Script ins [] l r ->
  sum value (filter p l) <= sum value (filter p r).
Proof.
  intros value ins l r p pos s. apply (filter_keeps_the_distance A p) in s. apply (sum_moves value) in s.
  assert (0 <= sum value (filter p ins)) by (clear - pos; induction (filter p ins); cbn [sum]; [lia|]; specialize (pos a); lia).
  simpl in s. lia.
Qed.

(** ** One number for each group: the whole vector moves by no more than one number would *)

Context {K : Type} (same : forall x y : K, {x = y} + {x <> y}) (key : A -> option K).

Definition same_key : forall x y : option K, {x = y} + {x <> y}.
Proof. decide equality. Defined.

(** Rows whose key is missing are in no group. *)
Definition in_group (v : K) : list A -> list A := group same_key key (Some v).

Definition tally value (keys : list K) l : list Z := map (fun v => sum value (in_group v l)) keys.

Fixpoint l1 (x y : list Z) : Z :=
  match x, y with a :: x', b :: y' => Z.abs (a - b) + l1 x' y' | _, _ => 0 end.

Lemma groups_share_edits : forall (keys : list K) l, NoDup keys ->
  (total (map (fun v => length (in_group v l)) keys) <= length l)%nat.
Proof.
  intros keys l distinct. unfold in_group.
  rewrite <- (map_map Some (fun v => length (group same_key key v l))).
  apply groups_share_rows. apply FinFun.Injective_map_NoDup; auto. intros x y e. congruence.
Qed.

(* op: tally *)
Theorem tally_distance : forall value most keys n l r, 0 <= most -> (forall x, Z.abs (value x) <= most) ->
  NoDup keys -> Apart n l r -> l1 (tally value keys r) (tally value keys l) <= most * Z.of_nat n.
Proof.
  intros value most keys n l r pos bound distinct (ins & del & s & few).
  assert (l1 (tally value keys r) (tally value keys l) <=
    most * Z.of_nat (total (map (fun v => length (in_group v ins)) keys) +
                     total (map (fun v => length (in_group v del)) keys))) as H.
  { clear distinct. unfold tally. induction keys as [|v keys IH]; cbn [map l1 total fold_right]; [lia|].
    pose proof (filter_keeps_the_distance A (fun row => if same_key (key row) (Some v) then true else false)
      _ _ _ _ s) as here. apply (sum_moves value) in here.
    fold (group same_key key (Some v)) in here.
    pose proof (sum_is_bounded value most (in_group v ins) bound).
    pose proof (sum_is_bounded value most (in_group v del) bound).
    unfold in_group, group in *. unfold total in IH |- *. cbn [fold_right]. lia. }
  pose proof (groups_share_edits keys ins distinct). pose proof (groups_share_edits keys del distinct).
  etransitivity; [exact H|]. apply Z.mul_le_mono_nonneg_l; lia.
Qed.

(** One group alone moves by the edits of its own cell. *)
(* op: tally *)
Theorem one_group_distance : forall value most v ins del l r, 0 <= most -> (forall x, Z.abs (value x) <= most) ->
  Script ins del l r ->
  Z.abs (sum value (in_group v r) - sum value (in_group v l)) <=
    most * Z.of_nat (length (in_group v ins) + length (in_group v del)).
Proof.
  intros value most v ins del l r pos bound s. unfold in_group, group.
  apply (filter_keeps_the_distance A (fun row => if same_key (key row) (Some v) then true else false)) in s.
  apply sum_distance; auto. eexists _, _. split; [exact s | lia].
Qed.

(** ** nunique: how many of the possible labels occur *)

Definition occurs l (v : K) : Z := match in_group v l with [] => 0 | _ => 1 end.
Definition nunique (labels : list K) l : Z := sum (occurs l) labels.

(* op: distinct *)
Theorem distinct_distance : forall labels n l r, NoDup labels -> Apart n l r ->
  Z.abs (nunique labels r - nunique labels l) <= Z.of_nat n.
Proof.
  intros labels n l r distinct near.
  pose proof (tally_distance (fun _ => 1) 1 labels n l r ltac:(lia) ltac:(intros; lia) distinct near) as few.
  rewrite Z.mul_1_l in few. etransitivity; [|exact few]. clear. unfold nunique, tally.
  induction labels as [|v labels IH]; cbn [sum map l1]; [lia|].
  assert (Z.abs (occurs r v - occurs l v) <= Z.abs (count (in_group v r) - count (in_group v l))).
  { rewrite !count_is_the_number_of_rows. unfold occurs. destruct (in_group v r), (in_group v l); simpl length; lia. }
  unfold count in *. lia.
Qed.

(** A row that comes in makes at most one label occur, and one that goes out makes at most one disappear. *)
(* op: distinct *)
Theorem distinct_net_distance : forall labels i d l r, NoDup labels -> Within i d l r ->
  Z.abs (nunique labels r - nunique labels l) <= Z.of_nat (max i d).
Proof.
  intros labels i d l r distinct (ins & del & s & ? & ?).
  assert (one : forall v, occurs r v - occurs l v <= Z.of_nat (length (in_group v ins)) /\
                          occurs l v - occurs r v <= Z.of_nat (length (in_group v del))).
  { intros v. pose proof (filter_keeps_the_distance A (fun row => if same_key (key row) (Some v) then true else false)
      _ _ _ _ s) as here. fold (group same_key key (Some v)) in here. apply script_length in here.
    unfold occurs, in_group, group in *. destruct (filter _ r), (filter _ l); simpl length in *; lia. }
  assert (all : nunique labels r - nunique labels l <= Z.of_nat (total (map (fun v => length (in_group v ins)) labels)) /\
                nunique labels l - nunique labels r <= Z.of_nat (total (map (fun v => length (in_group v del)) labels))).
  { clear distinct. unfold nunique, total. induction labels as [|v labels IH]; cbn [sum map fold_right]; [lia|].
    specialize (one v). lia. }
  pose proof (groups_share_edits labels ins distinct). pose proof (groups_share_edits labels del distinct). lia.
Qed.

(** ** Scores of candidate values by the rows on either side: quantiles *)

Variable column : A -> Z.

Definition balance (below above target c : Z) (strict : bool) l : Z :=
  sum (fun row => if (if strict then column row <? c else column row <=? c) then below else - above) l - target.

(** [QuantileScores] of ops/numbers/quantile_scores.py: minus what is missing for the rows to be split as wanted. *)
Definition score (below above target : Z) l (c : Z) : Z :=
  - Z.max 0 (Z.max (balance below above target c true l) (- balance below above target c false l)).

(* op: quantile_scores *)
Theorem quantile_scores_distance : forall below above target c n l r, 0 <= below -> 0 <= above -> Apart n l r ->
  Z.abs (score below above target r c - score below above target l c) <= Z.max below above * Z.of_nat n.
Proof.
  intros below above target c n l r ? ? near.
  assert (each : forall strict, Z.abs (balance below above target c strict r - balance below above target c strict l)
    <= Z.max below above * Z.of_nat n).
  { intros strict. unfold balance.
    set (f := fun row => if (if strict then column row <? c else column row <=? c) then below else - above).
    replace (sum f r - target - (sum f l - target)) with (sum f r - sum f l) by lia.
    apply sum_distance; auto; try lia. intros x. unfold f.
    destruct (if strict then column x <? c else column x <=? c); lia. }
  pose proof (each true). pose proof (each false). unfold score. lia.
Qed.

(** What comes in less what goes out. *)
(* op: quantile_scores *)
Theorem ranks_net_distance : forall below above target c i d l r, 0 <= below -> 0 <= above -> Within i d l r ->
  Z.abs (score below above target r c - score below above target l c) <=
    Z.max (below * Z.of_nat i + above * Z.of_nat d) (above * Z.of_nat i + below * Z.of_nat d).
Proof.
  intros below above target c i d l r ? ? near.
  assert (each : forall strict, Z.abs (balance below above target c strict r - balance below above target c strict l)
    <= Z.max (below * Z.of_nat i + above * Z.of_nat d) (above * Z.of_nat i + below * Z.of_nat d)).
  { intros strict. unfold balance.
    set (f := fun row => if (if strict then column row <? c else column row <=? c) then below else - above).
    replace (sum f r - target - (sum f l - target)) with (sum f r - sum f l) by lia.
    pose proof (net_sum_distance f (- above) below i d l r) as net. cbv zeta in net.
    replace (Z.max below 0) with below in net by lia. replace (Z.max (- - above) 0) with above in net by lia.
    apply net; auto. intros x. unfold f. destruct (if strict then column x <? c else column x <=? c); lia. }
  pose proof (each true). pose proof (each false). unfold score. lia.
Qed.
End Values.

(** ** The bounds are reached *)

(** After a head one row comes in and one goes out: the count moves by one, the sum by the difference. *)
Example count_after_a_head : Z.abs (count (firstn 1 [7; 5]%nat) - count (firstn 1 [5]%nat)) = 0.
Proof. reflexivity. Qed.
Example sum_of_mixed_signs_moves_by_both : Z.abs (sum (fun x => x) [3] - sum (fun x => x) [-1]) =
  Z.max (Z.max 3 0 * 1 + Z.max (- -1) 0 * 1) (Z.max (- -1) 0 * 1 + Z.max 3 0 * 1).
Proof. reflexivity. Qed.

Example count_after_an_insertion : Z.abs (count [1; 2]%nat - count [1]%nat) = 1.
Proof. reflexivity. Qed.
Example sum_of_the_largest_value : Z.abs (sum Z.of_nat [1; 5]%nat - sum Z.of_nat [1]%nat) = 5.
Proof. reflexivity. Qed.
Example quantile_scores_move_by_the_heavier_side :
  Z.abs (score Z.of_nat 3 1 0 [0; 0]%nat 5 - score Z.of_nat 3 1 0 [0]%nat 5) = Z.max 3 1.
Proof. reflexivity. Qed.
