/** What a person may want to say next, by what the last answer left behind. */
import { type ChatFollowup, l10n } from 'vscode';
import type { ParticipantCommand } from '../contributes/participant.ts';
import { recall } from './memory.ts';

export function followUps(metadata: unknown): ChatFollowup[] {
  const memory = recall(metadata);
  if (memory === undefined) return [];
  const offers: (ChatFollowup | undefined)[] = [
    memory.waits === undefined ? undefined : next('continue', memory.waits.requestId, l10n.t('I have answered: go on')),
    memory.unfinished === true ? { prompt: l10n.t('Go on.'), label: l10n.t('Go on') } : undefined,
    memory.refused === true ? next('explain', l10n.t('the last refusal'), l10n.t('Why was it refused?')) : undefined,
    memory.undoable === true ? next('undo', l10n.t('the last run'), l10n.t('What was changed, and can be undone?')) : undefined,
  ];
  return offers.filter((offer) => offer !== undefined);
}

function next(command: ParticipantCommand, prompt: string, label: string): ChatFollowup {
  return { command, prompt, label };
}
