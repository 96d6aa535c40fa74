/** A person's signature under a grant or a setting, whatever kind of key made it. */
import * as z from 'zod';

/** Enough for any assertion; a row that is larger was made to be a burden. */
const bytes = z.string().max(4_096);

/** That one parses says nothing about its signature. */
export const proofSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('ed25519'), keyId: bytes, signature: bytes }),
  z.strictObject({ kind: z.literal('passkey'), credentialId: bytes, authenticatorData: bytes, clientDataJSON: bytes, signature: bytes }),
]);

/** All base64url. A passkey's is its whole assertion, as the browser gave it. The key itself is looked up among the pinned ones. */
export type Proof = z.output<typeof proofSchema>;

export interface Signed<Payload> {
  readonly payload: Payload;
  readonly proof: Proof;
}

/** As it is stored. The versions before passkeys wrote the two parts of an `ed25519` proof beside the payload. */
export function signedSchema<Payload>(payload: z.ZodType<Payload>) {
  const older = z
    .strictObject({ payload, keyId: bytes, signature: bytes })
    .transform(({ keyId, signature, ...rest }) => ({ ...rest, proof: { kind: 'ed25519' as const, keyId, signature } }));
  return z.union([z.strictObject({ payload, proof: proofSchema }), older]);
}

/** Names the key in the trail. */
export function keyOfProof(proof: Proof): string {
  return proof.kind === 'ed25519' ? proof.keyId : `passkey:${proof.credentialId}`;
}
