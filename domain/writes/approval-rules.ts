/** The rules of approvals of a folder of policies, and who may sign. Pure. */
import type { Money } from '../policy.ts';

/** Who must sign before a run may move more than `above`. */
export type ApprovalRule = {
  /** Null: it holds for all policies. */
  readonly policies: readonly string[] | null;
  readonly above: Money;
  /** So many of the people in `of`. */
  readonly need: number;
  /** Names, as `allowed_signers` has them. */
  readonly of: readonly string[];
  /** So long after the plan was made they have time to sign. Then the run is told as late. */
  readonly withinMs: number;
};

/** The name of a person and a key of that person, as OpenSSH writes keys (base64). */
export type Signer = { readonly name: string; readonly key: string };

/** What a folder of policies says about approvals. */
export type Approvals = {
  readonly rules: readonly ApprovalRule[];
  readonly signers: readonly Signer[];
  /** The text of `allowed_signers`, as `ssh-keygen` reads it. */
  readonly allowedSigners: string;
  /** The bytes of `revoked_keys`, base64; null: there is no such file. */
  readonly revokedKeys: string | null;
};

/** The rules that name this policy, or all. */
export function rulesFor({ rules }: Approvals, policy: string): readonly ApprovalRule[] {
  return rules.filter(({ policies }) => policies === null || policies.includes(policy));
}
