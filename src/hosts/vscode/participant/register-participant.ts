/** `@banksman` in the chat. What it does is loaded when somebody first asks it. */
import { chat, type Disposable, ThemeIcon } from 'vscode';
import { participantId } from '../contributes/participant.ts';
import { describeTools } from '../load-parts.ts';
import type { ParticipantDeps } from './turn.ts';

export function registerParticipant(deps: Omit<ParticipantDeps, 'tools'>): Disposable {
  const participant = chat.createChatParticipant(participantId, async (request, context, stream, token) => {
    const tools = await describeTools();
    const { answer } = await import('./answer.ts');
    return answer({ request, context, stream, token }, { ...deps, tools });
  });
  participant.iconPath = new ThemeIcon('shield');
  participant.followupProvider = {
    provideFollowups: async (result) => (await import('./answer.ts')).followUps(result.metadata),
  };
  return participant;
}
