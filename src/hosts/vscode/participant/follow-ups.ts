/** What a person may want to say next, by what the last answer left behind. */
import type { ChatFollowup } from 'vscode';
import type { ParticipantCommand } from '../contributes/participant.ts';
import { t } from '../l10n.ts';
import { recall } from './memory.ts';

export function followUps(metadata: unknown): ChatFollowup[] {
  const memory = recall(metadata);
  if (memory === undefined) return [];
  const offers: (ChatFollowup | undefined)[] = [
    memory.waits === undefined ? undefined : next('continue', memory.waits.requestId, t('I have answered: go on')),
    memory.unfinished === true ? { prompt: t('Go on.'), label: t('Go on') } : undefined,
    memory.refused === true ? next('explain', t('the last refusal'), t('Why was it refused?')) : undefined,
    memory.undoable === true ? next('undo', t('the last run'), t('What was changed, and can be undone?')) : undefined,
  ];
  return offers.filter((offer) => offer !== undefined);
}

function next(command: ParticipantCommand, prompt: string, label: string): ChatFollowup {
  return { command, prompt, label };
}
