/** What `doctor` says about approvers: who they are, whose key lies here, and what is wrong with it. */
import { statSync } from 'node:fs';
import { isSameKey } from '#approval/keys';
import type { Finding } from '#kernel/app';
import type { ApproverKey } from '#kernel/approval/answer';
import { asIs, type Message, say } from '#kernel/text/message';
import { openPlaces } from '../config/open-places.ts';
import { failedFinding, finding } from '../finding.ts';
import { keyFolderOf, listKeyFiles } from './approver-key-file.ts';

const topic = 'approvers';

export interface ApproverParts {
  /** Where keys are pinned, and beside which they lie. */
  readonly configFile: string;
  /** Another file that pins, where one was named. */
  readonly namedConfigFile?: string;
  trustedKeys(): Promise<readonly ApproverKey[]>;
}

export async function approverFindings({
  configFile,
  namedConfigFile = configFile,
  trustedKeys,
}: ApproverParts): Promise<readonly Finding[]> {
  try {
    const pinned = await trustedKeys();
    const { keys, unusable } = await keysHere(keyFolderOf(configFile));
    const unpinned = keys.filter(({ publicKey }) => !pinned.some(({ key }) => isSameKey(key, publicKey)));
    return [
      whoMayApprove(pinned),
      ...twins(pinned),
      ...[...new Set([configFile, namedConfigFile])].flatMap((file) => openFiles(file, pinned.length > 0)),
      ...unusable.map(({ file, why }) => warning(say`${file} ${why}`, say`correct it, or remove it and make a new approver`)),
      ...unpinned.map(({ name }) =>
        warning(
          say`the key of \`${name}\` is not pinned, so it approves nothing`,
          say`pin it in ${configFile}, or \`banksman approvers revoke ${name}\``,
        ),
      ),
    ];
  } catch (thrown) {
    return [failedFinding(topic, thrown)];
  }
}

/** Keys that are another user's to read (in containers the administration's) are none of this user's, and hide nothing else. */
async function keysHere(folder: string): ReturnType<typeof listKeyFiles> {
  try {
    return await listKeyFiles(folder);
  } catch (thrown) {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (process.getuid === undefined || found === undefined || found.uid === process.getuid()) throw thrown;
    return { keys: [], unusable: [] };
  }
}

function whoMayApprove(pinned: readonly ApproverKey[]): Finding {
  const names = [...new Set(pinned.map(({ name }) => name))];
  const none = say`none yet: the first approval in an editor window pins its key, or \`banksman approvers create NAME\``;
  return finding(topic, 'ok', names.length > 0 ? asIs(names.join(', ')) : none);
}

function warning(message: Message, remedy: Message): Finding {
  return finding(topic, 'warning', message, remedy);
}

/** Two under one name cannot be told apart in any record; one key under two names is one person, however many names approve. */
function twins(pinned: readonly ApproverKey[]): readonly Finding[] {
  const keys = pinned.filter(({ key }, index) => pinned.findIndex((other) => isSameKey(other.key, key)) === index);
  // `ann` and `user:ann` are one person.
  const bare = (name: string) => name.replace(/^user:/, '');
  const sameName = [...Map.groupBy(keys, ({ name }) => bare(name)).values()].filter(({ length }) => length > 1);
  const sameKey = keys.map(({ key }) => [...new Set(pinned.filter((entry) => isSameKey(entry.key, key)).map(({ name }) => name))]);
  return [
    ...sameName.map((entries) =>
      warning(
        say`${entries.length} keys are pinned as ${[...new Set(entries.map(({ name }) => `\`${name}\``))].join(', ')}: what either approves is recorded under that name`,
        say`see \`banksman approvers list\`, and take out the one that is not theirs, or give each a name of its own`,
      ),
    ),
    ...sameKey
      .filter((named) => named.length > 1)
      .map((named) =>
        warning(
          say`one key is pinned under ${named.length} names: ${named.map((name) => `\`${name}\``).join(', ')}`,
          say`leave one of them in \`approvers\`: a key is one person’s`,
        ),
      ),
  ];
}

/**
 * Who may write the file, or a directory on the way to it, may pin a key of their own. Windows has no such modes; the profile folder is the user's.
 * LIMIT: access lists are seen as far as they show in the group's bits.
 */
function openFiles(file: string, pins: boolean): readonly Finding[] {
  return openPlaces(file).map(({ place, why, remedy }) => {
    const means = place === file ? say`they decide the configuration` : say`they decide what the configuration is`;
    const message = pins ? say`${place} ${why}: ${means}, which pins who may approve` : say`${place} ${why}: ${means}`;
    return finding('configuration', pins ? 'failed' : 'warning', message, remedy);
  });
}
