(** Operations that look at one row at a time, and the stable sort.

    The comment [op: name] above a theorem names the operation of src/privjail/ops whose rule the theorem is. *)

From Coq Require Import List Arith Lia Permutation Bool.
From PrivJail Require Import Distance.
Import ListNotations.

(** ** Row-wise expressions: the distance is kept

    An expression computes one value from one row. A table with a new, changed or dropped column is [map f] of the
    old one, whatever [f] computes. *)

(* op: arithmetic carried cast categorise clip column compare concat constant cut dot fillnull function isin isnull logic
   not nullwhere part recode row_scale text truncate where *)
Theorem expressions_keep_the_distance : forall (A B : Type) (f : A -> B) ins del l r,
  Script ins del l r -> Script (map f ins) (map f del) (map f l) (map f r).
Proof. induction 1; simpl; constructor; auto. Qed.

Corollary expressions_within : forall (A B : Type) (f : A -> B) i d l r,
  Within i d l r -> Within i d (map f l) (map f r).
Proof.
  intros A B f i d l r (ins & del & s & ? & ?). exists (map f ins), (map f del). rewrite !map_length.
  auto using expressions_keep_the_distance.
Qed.

(** ** Filter: the distance is kept, and the edits are those whose row meets the condition *)

(* op: filter *)
Theorem filter_keeps_the_distance : forall (A : Type) (p : A -> bool) ins del l r,
  Script ins del l r -> Script (filter p ins) (filter p del) (filter p l) (filter p r).
Proof. induction 1; simpl; try destruct (p x); auto; constructor; auto. Qed.

Lemma filter_shortens : forall (A : Type) (p : A -> bool) l, length (filter p l) <= length l.
Proof. induction l; simpl; try destruct (p a); simpl; lia. Qed.

Corollary filter_within : forall (A : Type) (p : A -> bool) i d l r,
  Within i d l r -> Within i d (filter p l) (filter p r).
Proof.
  intros A p i d l r (ins & del & s & ? & ?). exists (filter p ins), (filter p del).
  pose proof (filter_shortens A p ins). pose proof (filter_shortens A p del).
  repeat split; try lia. apply filter_keeps_the_distance; auto.
Qed.

Example filter_reaches_its_bound : edits Nat.eq_dec (filter Nat.even [1; 3]) (filter Nat.even [1; 2; 3]) = 1.
Proof. reflexivity. Qed.

(** dropna keeps the rows in which no looked-at value is missing: a filter. *)
Definition dropna {A V : Type} (columns : list (A -> option V)) : list A -> list A :=
  filter (fun row => forallb (fun column => match column row with Some _ => true | None => false end) columns).

Theorem dropna_keeps_the_distance : forall (A V : Type) (columns : list (A -> option V)) i d l r,
  Within i d l r -> Within i d (dropna columns l) (dropna columns r).
Proof. intros; apply filter_within; auto. Qed.

(** ** Taking one group: the groups of a partition share the edits

    [key] gives each row one value. Each edited row is in one group, so the edits of all groups together are no more
    than the edits of the whole; this is the reason for Σₖ η(p/g=k) ≤ η(p). *)
Definition group {A K : Type} (same : forall x y : K, {x = y} + {x <> y}) (key : A -> K) (k : K) : list A -> list A :=
  filter (fun row => if same (key row) k then true else false).

Definition total (ns : list nat) : nat := fold_right Nat.add 0 ns.

Lemma groups_share_rows : forall (A K : Type) same (key : A -> K) keys l, NoDup keys ->
  total (map (fun k => length (group same key k l)) keys) <= length l.
Proof.
  intros A K same key keys l distinct. induction l as [|x l IH]; simpl.
  - clear distinct. induction keys; simpl; lia.
  - enough (forall ks, NoDup ks ->
      total (map (fun k => length (group same key k (x :: l))) ks) <=
      total (map (fun k => length (group same key k l)) ks) + (if in_dec same (key x) ks then 1 else 0)) as step.
    { specialize (step keys distinct). simpl in step. destruct (in_dec same (key x) keys); lia. }
    induction 1 as [|k ks new rest IHks]; simpl in *; [lia|].
    destruct (same (key x) k) as [<-|other]; simpl.
    + destruct (in_dec same (key x) ks); [contradiction|]. destruct (same (key x) (key x)); [lia | congruence].
    + destruct (same k (key x)); [congruence|]. destruct (in_dec same (key x) ks); lia.
Qed.

Theorem groups_share_the_edits : forall (A K : Type) same (key : A -> K) keys ins del l r,
  NoDup keys -> Script ins del l r ->
  exists each : K -> nat,
    total (map each keys) <= length ins + length del /\
    forall k, Apart (each k) (group same key k l) (group same key k r).
Proof.
  intros A K same key keys ins del l r distinct s.
  exists (fun k => length (group same key k ins) + length (group same key k del)). split.
  - pose proof (groups_share_rows A K same key keys ins distinct).
    pose proof (groups_share_rows A K same key keys del distinct).
    enough (forall f g : K -> nat, total (map (fun k => f k + g k) keys) = total (map f keys) + total (map g keys))
      as sum by (rewrite sum; lia).
    intros. clear. induction keys; simpl; lia.
  - intros k. exists (group same key k ins), (group same key k del). split; auto.
    apply filter_keeps_the_distance; auto.
Qed.

(** ** Sort, stable: the distance is kept *)

Section Sort.
Context {A : Type} (le : A -> A -> bool).
Hypothesis total_order : forall x y, le x y = true \/ le y x = true.
Hypothesis transitive : forall x y z, le x y = true -> le y z = true -> le x z = true.

(** [x] goes before the first row that is not smaller than it: rows that stood behind it and are equal stay behind. *)
Fixpoint put (x : A) (l : list A) : list A :=
  match l with
  | [] => [x]
  | y :: l' => if le x y then x :: y :: l' else y :: put x l'
  end.

Definition stable_sort (l : list A) : list A := fold_right put [] l.

Inductive Sorted : list A -> Prop :=
| Sorted_nil : Sorted []
| Sorted_cons : forall x l, (forall y, In y l -> le x y = true) -> Sorted l -> Sorted (x :: l).

Lemma put_permutes : forall x l, Permutation (x :: l) (put x l).
Proof.
  induction l as [|y l IH]; simpl; auto. destruct (le x y); auto.
  rewrite perm_swap. constructor; auto.
Qed.

Lemma put_sorts : forall x l, Sorted l -> Sorted (put x l).
Proof.
  induction 1 as [|y l first rest IH]; simpl.
  - repeat constructor; simpl; tauto.
  - destruct (le x y) eqn:small.
    + constructor; [|constructor; auto]. intros z [<-|there]; auto. eauto.
    + constructor; auto. intros z there. apply (Permutation_in z (Permutation_sym (put_permutes x l))) in there.
      destruct there as [<-|there]; auto. destruct (total_order x y); congruence.
Qed.

Lemma sort_sorts : forall l, Sorted (stable_sort l).
Proof. induction l; simpl; [constructor | apply put_sorts; auto]. Qed.

Lemma sort_permutes : forall l, Permutation l (stable_sort l).
Proof. induction l; simpl; auto. rewrite <- put_permutes. auto. Qed.

Definition before (x y : A) : bool := negb (le x y).  (* y is smaller than x *)

Lemma none_before : forall x l, (forall z, In z l -> le x z = true) -> filter (before x) l = [].
Proof. induction l; simpl; intros all; auto. unfold before at 1. rewrite all by auto. simpl; auto. Qed.

Lemma all_after : forall x l, (forall z, In z l -> le x z = true) -> filter (le x) l = l.
Proof. induction l; simpl; intros all; auto. rewrite all by auto. f_equal; auto. Qed.

Lemma put_splits : forall x l, Sorted l -> put x l = filter (before x) l ++ x :: filter (le x) l.
Proof.
  induction 1 as [|y l first rest IH]; simpl; auto. unfold before at 1. destruct (le x y) eqn:small; simpl.
  - assert (all : forall z, In z l -> le x z = true) by (intros; eauto).
    rewrite none_before, all_after by auto. reflexivity.
  - f_equal; auto.
Qed.

Lemma split_by : forall (p q : A -> bool) l, (forall x, q x = negb (p x)) ->
  Permutation l (filter p l ++ filter q l).
Proof.
  intros p q l opposite. induction l as [|x l IH]; simpl; auto. rewrite opposite. destruct (p x); simpl.
  - constructor; auto.
  - rewrite IH at 1. apply Permutation_middle.
Qed.

Lemma sorted_splits : forall x l, Sorted l -> l = filter (before x) l ++ filter (le x) l.
Proof.
  induction 1 as [|y l first rest IH]; simpl; auto. unfold before at 1. destruct (le x y) eqn:small; simpl.
  - assert (all : forall z, In z l -> le x z = true) by (intros; eauto).
    rewrite none_before, all_after by auto. reflexivity.
  - f_equal; auto.
Qed.

(* op: sort *)
Theorem sort_keeps_the_distance : forall ins del l r, Script ins del l r ->
  exists ins' del', Permutation ins ins' /\ Permutation del del' /\
    Script ins' del' (stable_sort l) (stable_sort r).
Proof.
  assert (opposite : forall x y, le x y = negb (before x y)) by (intros; unfold before; destruct (le x y); auto).
  assert (parts : forall x (l l' : list A), Permutation l l' -> Permutation l (filter (before x) l' ++ filter (le x) l'))
    by (intros; etransitivity; [eassumption | apply split_by; auto]).
  induction 1 as [|x ins del l r s (i & d & pi & pd & sorted)|x ins del l r s (i & d & pi & pd & sorted)
                  |x ins del l r s (i & d & pi & pd & sorted)]; simpl.
  - exists [], []; repeat split; auto; constructor.
  - exists (filter (before x) i ++ filter (le x) i), (filter (before x) d ++ filter (le x) d).
    repeat split; auto. rewrite !put_splits by apply sort_sorts.
    apply script_app; [|constructor]; apply filter_keeps_the_distance; auto.
  - exists (filter (before x) i ++ x :: filter (le x) i), (filter (before x) d ++ filter (le x) d).
    repeat split; auto; [rewrite <- Permutation_middle; auto|].
    rewrite put_splits by apply sort_sorts. rewrite (sorted_splits x (stable_sort l)) by apply sort_sorts.
    apply script_app; [|constructor]; apply filter_keeps_the_distance; auto.
  - exists (filter (before x) i ++ filter (le x) i), (filter (before x) d ++ x :: filter (le x) d).
    repeat split; auto; [rewrite <- Permutation_middle; auto|].
    rewrite put_splits by apply sort_sorts. rewrite (sorted_splits x (stable_sort r)) by apply sort_sorts.
    apply script_app; [|constructor]; apply filter_keeps_the_distance; auto.
Qed.

Corollary sort_within : forall i d l r, Within i d l r -> Within i d (stable_sort l) (stable_sort r).
Proof.
  intros i d l r (ins & del & s & ? & ?). destruct (sort_keeps_the_distance _ _ _ _ s) as (i' & d' & pi & pd & s').
  exists i', d'. apply Permutation_length in pi, pd. repeat split; auto; lia.
Qed.

(** A sort and a filter can change places. *)
Lemma filter_swap : forall (B : Type) (p q : B -> bool) l, filter p (filter q l) = filter q (filter p l).
Proof. induction l; simpl; auto. destruct (p a) eqn:ep, (q a) eqn:eq; simpl; rewrite ?ep, ?eq, ?IHl; auto. Qed.

Lemma sorted_filter : forall p l, Sorted l -> Sorted (filter p l).
Proof.
  induction 1; simpl; [constructor|]. destruct (p x); auto. constructor; auto.
  intros y there. apply filter_In in there. apply H; tauto.
Qed.

Lemma filter_sort : forall p l, filter p (stable_sort l) = stable_sort (filter p l).
Proof.
  induction l as [|x l IH]; auto. simpl. rewrite put_splits by apply sort_sorts.
  rewrite filter_app. simpl. destruct (p x); simpl; rewrite <- IH.
  - rewrite put_splits by apply sorted_filter, sort_sorts. rewrite !(filter_swap _ p). reflexivity.
  - rewrite !(filter_swap _ p). symmetry. apply sorted_splits, sorted_filter, sort_sorts.
Qed.

(** Every stable sort is this one: a list in order, in which equal rows stand as they stood before. *)
Definition equal (x y : A) : bool := le x y && le y x.

Lemma sorted_lists_are_equal : forall l r, Sorted l -> Sorted r ->
  (forall x, filter (equal x) l = filter (equal x) r) -> l = r.
Proof.
  assert (self : forall x, equal x x = true)
    by (intros; unfold equal; destruct (total_order x x) as [-> | ->]; auto).
  assert (found : forall x l r, filter (equal x) (x :: l) = filter (equal x) r -> In x r).
  { intros x l r same. enough (In x (filter (equal x) r)) as H by (apply filter_In in H; tauto).
    rewrite <- same. simpl. rewrite self. left; auto. }
  induction l as [|x l IH]; intros r left right same.
  - destruct r as [|y r]; auto. specialize (same y). simpl in same. rewrite self in same. discriminate.
  - destruct r as [|y r]; [specialize (same x); simpl in same; rewrite self in same; discriminate|].
    inversion left; inversion right; subst.
    assert (equal x y = true) as both.
    { assert (le x x = true /\ le y y = true) as [? ?] by (pose proof (self x); pose proof (self y);
        unfold equal in *; rewrite !andb_true_iff in *; tauto).
      pose proof (found _ _ _ (same x)) as [->|]; auto. pose proof (found _ _ _ (eq_sym (same y))) as [->|]; auto.
      unfold equal. rewrite H1, H5; auto. }
    pose proof (same x) as first. simpl in first. rewrite self, both in first. injection first as <- _.
    f_equal. apply IH; auto. intros z. specialize (same z). simpl in same.
    destruct (equal z x); auto. injection same; auto.
Qed.

Theorem every_stable_sort_is_this_one : forall l m, Sorted m ->
  (forall x, filter (equal x) m = filter (equal x) l) -> m = stable_sort l.
Proof.
  intros l m ordered stable. apply sorted_lists_are_equal; auto using sort_sorts.
  intros x. rewrite stable, filter_sort. clear - transitive.
  induction l as [|y l IH]; auto. simpl. destruct (equal x y) eqn:e; auto. simpl. rewrite <- IH.
  destruct (filter (equal x) l) as [|z rest] eqn:tail; auto. simpl.
  assert (equal x z = true) as e' by (eapply proj2, filter_In; rewrite tail; left; auto).
  unfold equal in e, e'. apply andb_true_iff in e, e'. destruct e as [_ e], e' as [e' _].
  rewrite (transitive _ _ _ e e'). reflexivity.
Qed.
End Sort.

Example sort_reaches_its_bound :
  edits Nat.eq_dec (stable_sort Nat.leb [3; 1]) (stable_sort Nat.leb [3; 2; 1]) = 1.
Proof. reflexivity. Qed.

(** ** Joins with a public table

    Each row is replaced by its matches in a public table: at most [most] of them. With one match at most
    (many-to-one, inner or left join) the distance is kept. *)
Theorem join_with_a_public_table : forall (A B : Type) (matches : A -> list B) most i d l r,
  (forall row, length (matches row) <= most) ->
  Within i d l r -> Within (most * i) (most * d) (flat_map matches l) (flat_map matches r).
Proof.
  intros A B matches most i d l r bound near.
  replace (most * i) with (most * i + 0 * d) by lia. replace (most * d) with (0 * i + most * d) by lia.
  revert near. apply one_edit_is_enough. intros front x back. rewrite !flat_map_app. simpl.
  apply (within_app 0 0 most 0); [apply within_same|]. exists (matches x), []. simpl; repeat split; auto.
  rewrite <- (app_nil_r (matches x)) at 1. change (flat_map matches back) with ([] ++ flat_map matches back) at 1.
  apply (script_app _ [] [] _ [] []); [apply script_insert_all | apply script_same].
Qed.

Corollary many_to_one_join_keeps_the_distance : forall (A B : Type) (matches : A -> list B) i d l r,
  (forall row, length (matches row) <= 1) ->
  Within i d l r -> Within i d (flat_map matches l) (flat_map matches r).
Proof. intros. rewrite <- (Nat.mul_1_l i), <- (Nat.mul_1_l d). apply join_with_a_public_table; auto. Qed.

Example join_reaches_its_bound :
  edits Nat.eq_dec (flat_map (fun x => [x; x]) [1]) (flat_map (fun x => [x; x]) [1; 2]) = 2.
Proof. reflexivity. Qed.
