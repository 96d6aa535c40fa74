/** The question whether this window's key counts from now on: it outlives the one decision at hand, so it is asked by itself. */
import type { Approvals, Signer } from '#app/app';
import { keyIdOf } from '#app/approver-keys';
import { showPlainly } from '#kernel/text';
import type { Confirmation } from './confirm-run.ts';

export const trustButton = 'Trust This Key';

export interface PinDeps {
  readonly approvals: Pick<Approvals, 'isTrusted' | 'trust'>;
  /** Where keys are pinned, for people. */
  readonly configFile: string;
  /** Whether the person goes on. */
  confirm(question: Confirmation): Promise<boolean>;
}

/** True where the key counts already, or a person says that it shall. */
export async function trustKey(signer: Signer, deps: PinDeps): Promise<boolean> {
  if (await deps.approvals.isTrusted(signer.publicKey)) return true;
  if (!(await deps.confirm(pinQuestion(signer, deps.configFile)))) return false;
  await deps.approvals.trust(signer.approver, signer.publicKey);
  return true;
}

function pinQuestion(signer: Signer, configFile: string): Confirmation {
  const detail = [
    'An answer is signed, and counts only by keys that are pinned on this machine. The key of this window is new here. If you trust it, whoever',
    'uses this editor profile can approve from now on.',
  ].join(' ');
  return {
    key: 'trust this key',
    title: `Trust the approval key of this window for ${showPlainly(signer.approver, 100)}?`,
    detail: `${detail}\n\nFingerprint: ${keyIdOf(signer.publicKey) ?? 'none'}\nKey: ${showPlainly(signer.publicKey)}\nPinned in: ${showPlainly(configFile)}`,
    proceed: trustButton,
    stay: 'Do Not Trust',
  };
}
