/** Approvers' keys, for hosts: they may import nothing of `approval/` itself. */
export { type ApproverKeyPair, generateApproverKey, signerFrom } from '#approval/keys';
