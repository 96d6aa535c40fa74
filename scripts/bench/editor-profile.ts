import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export type Settings = Readonly<Record<string, unknown>>;

/** The folders of one editor profile; nothing outside `root` is read or written. */
export interface EditorProfile {
  readonly root: string;
  readonly home: string;
  readonly data: string;
  readonly extensions: string;
}

/** The first six keep the editor quiet, the rest choose the chat harness that runs with no account. */
export const QUIET_SETTINGS: Settings = {
  'workbench.startupEditor': 'none',
  'telemetry.telemetryLevel': 'off',
  'remote.autoForwardPorts': false,
  'extensions.autoCheckUpdates': false,
  'update.mode': 'none',
  'chat.tools.riskAssessment.enabled': false,
  'chat.agentHost.enabled': false,
  'chat.defaultToCopilotHarness': false,
  'chat.editor.preferCopilotHarness': false,
  'chat.byokUtilityModelDefault': 'mainAgent',
};

/** Creates the folders of a profile, or finds them again. */
export function createProfile(root: string): EditorProfile {
  const profile = { root, home: path.join(root, 'home'), data: path.join(root, 'data'), extensions: path.join(root, 'extensions') };
  for (const folder of [profile.home, profile.extensions, path.join(profile.data, 'User'), path.join(profile.data, 'Machine')]) {
    mkdirSync(folder, { recursive: true });
  }
  return profile;
}

/**
 * Writes the user's settings and, apart from them, the machine's: in a window whose extensions run on a
 * server, VS Code reads settings of scope `machine` from the second file only.
 */
export function writeSettings(profile: EditorProfile, user: Settings, machine: Settings): void {
  writeJson(path.join(profile.data, 'User', 'settings.json'), { ...QUIET_SETTINGS, ...user });
  writeJson(path.join(profile.data, 'Machine', 'settings.json'), machine);
}

/** An OpenAI-compatible server for the chat. */
export interface ChatModel {
  readonly url: string;
  /** What the model picker shows. */
  readonly name: string;
  /** What its provider calls it; default: a name that nobody knows. */
  readonly id?: string;
  /** Further models of the same server. */
  readonly others?: readonly { readonly id: string; readonly name: string }[];
}

export function writeChatModel(profile: EditorProfile, { url, name, id = 'scripted-demo', others = [] }: ChatModel): void {
  const models = [{ id, name }, ...others].map((model) => ({
    ...model,
    ...{ url, toolCalling: true, vision: false, maxInputTokens: 100_000, maxOutputTokens: 8000 },
  }));
  writeJson(path.join(profile.data, 'User', 'chatLanguageModels.json'), [
    { name, vendor: 'customendpoint', apiType: 'chat-completions', models },
  ]);
}

function writeJson(file: string, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);
}
