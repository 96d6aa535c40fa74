/** Approvers' keys, for hosts: they may import nothing of `approval/` itself. */
export { type ApproverKeyPair, generateApproverKey, keyIdOf, signerFrom } from '#approval/keys';
