/** `banksman runs list|show|undo`: what commands changed in the workspace, and taking it back. */

import type { ChangeList, RunHistory, RunRecord, ShownChanges } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import { english } from '#kernel/text/message';
import { changeLines } from '#kernel/text/shown-change';
import { showPlainly } from '#kernel/text/text';
import { badUsage, type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { looking, withApp } from '../session.ts';

const verbs: Readonly<Record<string, (history: RunHistory, words: readonly string[], options: CommandOptions) => Promise<number>>> = {
  list,
  show,
  undo,
};

export async function runRuns([verb = '', ...words]: readonly string[], options: CommandOptions): Promise<number> {
  const run = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (run === undefined) throw noSuchVerb('runs', ['list', 'show', 'undo'], verb);
  if (options['set-aside'] === true && verb !== 'undo') throw badUsage('`--set-aside` goes with `runs undo`');
  return withApp(
    options,
    async (app) => {
      const history = await app.runs();
      if (history === undefined)
        throw new Fault('no_journal', 'commands do not run over a view here, so nothing is kept', { next: 'see why: `banksman doctor`' });
      return run(history, words, options);
    },
    verb === 'undo' ? {} : looking,
  );
}

async function list(history: RunHistory, words: readonly string[], { json }: CommandOptions): Promise<number> {
  operands(words, []);
  const records = await history.list();
  if (json) printJson(records.map(recordJson));
  else
    for (const record of records)
      printText(`${record.id}  ${record.state.padEnd(7)}  ${timeOf(record)}  ${counts(record)}  ${showPlainly(record.title, 80)}`);
  if (records.length === 0 && !json) printError('there are no runs');
  return 0;
}

async function show(history: RunHistory, words: readonly string[], { json }: CommandOptions): Promise<number> {
  const [id = ''] = operands(words, ['ID']);
  const record = (await history.list()).find((candidate) => candidate.id === id);
  if (record === undefined)
    throw new Fault('no_such_run', 'the journal has no such run', { audience: 'user', next: 'list them: `banksman runs list`' });
  // Of an undone run nothing is kept but the names.
  const shown = record.state === 'undone' ? undefined : await history.show(id);
  if (json) {
    printJson({ ...recordJson(record), ...(shown === undefined ? {} : { differences: shown.changes, differences_left_out: shown.more }) });
    return 0;
  }
  printText(`${record.state}  ${timeOf(record)}  by ${showPlainly(record.agentId)}`);
  printText(showPlainly(record.title));
  if (shown === undefined) printChanges(record);
  else printDifferences(shown);
  return 0;
}

function printDifferences({ changes, more }: ShownChanges): void {
  for (const change of changes) for (const line of changeLines({ ...change })) printText(english(line));
  if (more > 0) printText(`(and ${more} more changes, not shown)`);
}

async function undo(history: RunHistory, words: readonly string[], { 'set-aside': force = false, json }: CommandOptions): Promise<number> {
  const [id = ''] = operands(words, ['ID']);
  const undone = await history.undo(id, { force });
  if (json) printJson({ undone: id, ...listsOf(undone) });
  else printText(`undone: ${counts(undone)}`);
  return 0;
}

function printChanges({ created, changed, deleted }: ChangeList): void {
  for (const [word, paths] of [
    ['created', created],
    ['changed', changed],
    ['deleted', deleted],
  ] as const)
    for (const path of paths) printText(`${word}  ${showPlainly(path)}`);
}

function counts({ created, changed, deleted }: ChangeList): string {
  return `${created.length} created, ${changed.length} changed, ${deleted.length} deleted`;
}

function timeOf({ at }: RunRecord): string {
  return new Date(at).toISOString();
}

function listsOf({ created, changed, deleted }: ChangeList) {
  return { created: [...created], changed: [...changed], deleted: [...deleted] };
}

function recordJson(record: RunRecord) {
  const { id, state, title, agentId, keptBytes } = record;
  return { id, state, command: title, agent: agentId, time: timeOf(record), kept_bytes: keptBytes, ...listsOf(record) };
}
