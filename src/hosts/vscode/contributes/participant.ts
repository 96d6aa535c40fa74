/** `contributes.chatParticipants`. */

export const participantId = 'banksman.chat';

/** As people call it, and see it in requests. */
export const participantLabel = '@banksman';

/** The first four need no model. */
export const participantCommands = {
  status: 'How the clusters are, what waits for you',
  explain: 'Why a call was refused: the last one, or the request that you name',
  undo: 'What agents changed in the workspace, and taking it back',
  doctor: 'What works here, what does not, and what to do',
  plan: 'Propose a plan of several changes; nothing of it runs before you approve it',
  continue: 'Go on with what you have answered',
} as const;
export type ParticipantCommand = keyof typeof participantCommands;

export const chatParticipants = [
  {
    id: participantId,
    name: 'banksman',
    fullName: 'Banksman',
    description: 'Look after Proxmox VE clusters and the workspace',
    commands: Object.entries(participantCommands).map(([name, description]) => ({ name, description })),
  },
];
