/** A change of a shared security setting: shown in a modal, signed with this window's key, then carried out. */

import type { App, SettingResult } from '#kernel/app';
import type { Signer } from '#kernel/approval/answer';
import type { JsonObject } from '#kernel/json';
import { faultWords, saidWords } from '../fault-words.ts';
import { settingSigner } from '../gate/bound-signer.ts';
import { type Confirmation, type ConfirmDeps, confirmRun, trustKey } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';

export interface SettingChange {
  readonly question: Confirmation;
  /** What is signed must hold exactly these. */
  readonly signed: JsonObject;
  carryOut(signer: Signer): Promise<SettingResult>;
}

export interface ChangeDeps {
  readonly approvals: Pick<App['approvals'], 'isTrusted' | 'trust'>;
  readonly confirm: ConfirmDeps;
  signer(): Promise<Signer>;
  /** Where a first approval pins the key, for people. */
  readonly configFile: string;
}

/** What came of it is told to the person. True: it was changed. */
export async function changeSetting(change: SettingChange, deps: ChangeDeps): Promise<boolean> {
  const { dialogs } = deps.confirm;
  try {
    const signer = await deps.signer();
    if (!(await confirmRun(change.question, deps.confirm))) return false;
    if (!(await trustKey(signer, { ...deps, confirm: (question) => confirmRun(question, deps.confirm) }))) return false;
    const result = await change.carryOut(settingSigner(signer, change.signed));
    dialogs.tell(result.ok ? 'status' : 'error', `Banksman: ${saidWords(result.message)}`);
    return result.ok;
  } catch (thrown) {
    dialogs.tell('error', t('Banksman: nothing was changed: {0}', faultWords(thrown)));
    return false;
  }
}
