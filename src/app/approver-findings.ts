/** What `doctor` says about approvers: who they are, whose key lies here, and what is wrong with it. */
import { isSameKey } from '#approval/keys';
import type { ApproverKey } from '#kernel/answer';
import { toFault } from '#kernel/errors';
import type { Finding } from './app.ts';
import { keyFolderOf, listKeyFiles } from './approver-key-file.ts';

const topic = 'approvers';

export interface ApproverParts {
  /** Where keys are pinned, and beside which they lie. */
  readonly configFile: string;
  trustedKeys(): Promise<readonly ApproverKey[]>;
}

export async function approverFindings({ configFile, trustedKeys }: ApproverParts): Promise<readonly Finding[]> {
  try {
    const pinned = await trustedKeys();
    const { keys, unusable } = await listKeyFiles(keyFolderOf(configFile));
    const unpinned = keys.filter(({ publicKey }) => !pinned.some(({ key }) => isSameKey(key, publicKey)));
    return [
      whoMayApprove(pinned),
      ...unusable.map(({ file, why }) => warning(`${file} ${why}`, 'correct it, or remove it and make a new approver')),
      ...unpinned.map(({ name }) =>
        warning(
          `the key of \`${name}\` is not pinned, so it approves nothing`,
          `pin it in ${configFile}, or \`banksman approvers revoke ${name}\``,
        ),
      ),
    ];
  } catch (thrown) {
    const { code, message, next } = toFault(thrown);
    return [{ topic, state: 'failed', message: `${code}: ${message}`, ...(next === undefined ? {} : { remedy: next }) }];
  }
}

function whoMayApprove(pinned: readonly ApproverKey[]): Finding {
  const names = [...new Set(pinned.map(({ name }) => name))];
  const message =
    names.length > 0
      ? names.join(', ')
      : 'none yet: the first approval in an editor window pins its key, or `banksman approvers create NAME`';
  return { topic, state: 'ok', message };
}

function warning(message: string, remedy: string): Finding {
  return { topic, state: 'warning', message, remedy };
}
