/** The settings `banksman.*`, derived from the configuration's one schema. */
import * as z from 'zod';
import { type Config, configSchema } from '#app/config/config';
import { mcpServerSetting } from './names.ts';

/** SECURITY: any extension can write settings without a prompt. Who approves and who witnesses, and where, stands in the machine's configuration file alone. */
type Key = Exclude<keyof Config, 'approvals' | 'approvers' | 'hooks' | 'page' | 'sinks' | 'witnesses'>;

type Property = Exclude<NonNullable<z.core.JSONSchema.JSONSchema['properties']>[string], boolean>;

interface SettingText {
  /** Markdown, shown in the settings editor. */
  readonly text: string;
  readonly enumTexts?: readonly string[];
  /** What is in its entries is checked when it is read, and left out of the manifest, whose size is limited. */
  readonly bare?: true | readonly string[];
}

const texts: Record<Key, SettingText> = {
  clusters: {
    text:
      'The Proxmox VE clusters that tools may reach. Each has a `name`, API `endpoints` (https), a `tokenId` (`user@realm!name`) and optionally `tls` (a pinned SHA-256 `fingerprint` or a `caFile`), `ssh` and `wake`.\n\n' +
      'The token itself never goes here: run **Banksman: Set API Token…**, or name a `tokenFile` that only you can read.',
  },
  protected: {
    text: 'What no tool may change, whatever name, number format or address is used for it: `nodes`, `guests` (VMIDs), `services`, `addresses`, and guests by `tags`, `pools` and `names`. Checked before anything else; nobody can approve it away. What these depend on is protected as well. An entry can say why (`{ "vmid": 103, "reason": "runs the VPN" }`): the refusal shows it.',
    bare: ['pools', 'names'],
  },
  roles: {
    text: 'What the cluster does not tell: which guest or node is the gateway, DNS server or storage of others. Each entry has a `name`, `as` (`gateway`, `dns`, `storage`), a `reason`, `guest` or `node`, and `of` (as `only` in scopes) or `storages`. See *docs/security-settings.md*.',
    bare: true,
  },
  scopes: {
    text: 'What agents may change of clusters: each entry has a `name`, `agents` (ids such as `mcp:ci`, `*` and `?`, `host:chat`, `user:alice`), a `reason`, and limits: `only` (by `clusters`, `guests`, `tags`, `pools`, `nodes`, `names`), `impact`, `changesPerDay`. All that name an agent hold. See *docs/security-settings.md*.',
    bare: true,
  },
  windows: {
    text: 'When clusters may be changed: each entry has a `name`, a `kind` (`freeze`: not then; `maintenance`: only then), a `reason`, a `zone`, `times` (`start`, `duration`, `rrule`), and `only` as in scopes. See *docs/security-settings.md*.',
    bare: true,
  },
  securityLevel: {
    text: 'How calls are treated.',
    enumTexts: [
      'Yellow calls run and are logged, red calls ask; a command with the network is allowed and logged.',
      'Yellow calls run and are logged; red calls ask, and so does a command with the network.',
      'Yellow calls ask too, disruptive and irreversible ones want the target’s name and a code typed; a command with the network is refused.',
    ],
  },
  defaultModelTier: {
    text: 'What a model may use at all where the editor does not say which model it is (Copilot, other extensions). It never lifts an approval.',
    enumTexts: [
      'Reads only.',
      'Also operates guests and services and runs read-only commands.',
      'Also writes files and runs commands in the workspace.',
    ],
  },
  tiers: { text: 'Makes single tools stricter, for example `{ "restart_service": "red" }`. It cannot make one less strict.' },
  commandRules: {
    text: 'Your own rules for commands, each with an `id`, a `surface` (`ssh`, `readonly_bash`, `workspace_command`), an `effect`, a `program` with `args`, a `justification` and examples in `match` and `notMatch`. The strictest rule wins; an `allow` lifts only the refusal of what no rule knows.',
  },
  store: {
    text: 'Where requests and the audit trail are kept: `sqlite:` in your state directory, shared by all windows and the command line.',
  },
  workspace: {
    text: 'The folder that workspace tools see (`root`, relative to the first folder of the window), whether commands need the OS sandbox (`requireSandbox`), and how much is kept to undo what they changed (`undo`: `bytes`, `days`).',
  },
  limits: { text: 'Time limits in milliseconds. They can only be made shorter than the defaults.' },
  approvalWait: {
    text: 'How long a call waits for a person before it answers “pending”, in milliseconds, for each surface. A later answer still counts.',
  },
};

/** No part of the configuration, and read by the window alone: how this person is told of requests, and what the editor is offered besides the tools. Machine scope, so that no folder silences what asks. */
export function windowSettings(): Record<string, object> {
  return {
    'banksman.notify': {
      enum: ['all', 'red', 'never'],
      default: 'all',
      scope: 'machine',
      markdownDescription:
        'Which requests of agents outside this editor’s chat a notification tells of: `all`, `red` calls only, or `never`. They stand in **Pending Approvals** all the same; the chat’s own calls ask in a dialog.',
    },
    'banksman.notifyWhen': {
      enum: ['always', 'unfocused'],
      default: 'always',
      scope: 'machine',
      markdownDescription: 'When such a notification is shown: `always`, or only while this window is `unfocused`.',
    },
    [mcpServerSetting]: {
      type: 'boolean',
      default: false,
      scope: 'machine',
      markdownDescription:
        'Offers the editor Banksman as an MCP server too, with this window’s settings, for sessions that see MCP servers only (agents in the background, other extensions’). Off, since this window’s chat has these tools already and would have each twice.',
    },
  };
}

/**
 * Everything here is relevant to security, so all of it has machine scope: no repository, no workspace file and no other extension's
 * defaults can set it.
 */
export function settingContributions(): Record<string, object> {
  const schema = z.toJSONSchema(configSchema, { io: 'input' });
  const properties = schema.properties ?? {};
  const shared = Object.fromEntries(
    Object.entries(texts).map(([key, { text, enumTexts, bare }], order) => {
      const property = properties[key];
      if (typeof property !== 'object') throw new Error(`the configuration's schema has no \`${key}\``);
      const { default: given, ...rest } = property;
      return [
        `banksman.${key}`,
        {
          ...bared(rest, bare),
          ...(given === undefined ? emptyDefault(rest.type) : { default: given }),
          scope: 'machine',
          order,
          markdownDescription: text,
          ...(enumTexts === undefined ? {} : { enumDescriptions: enumTexts }),
        },
      ];
    }),
  );
  return shared;
}

function bared(property: Property, bare: SettingText['bare']): Property {
  if (bare === true) return property.type === undefined ? {} : { type: property.type };
  const { properties } = property;
  if (bare === undefined || properties === undefined) return property;
  const shown = ([key, value]: readonly [string, unknown]) => [key, bare.includes(key) ? { type: 'array' } : value] as const;
  return { ...property, properties: Object.fromEntries(Object.entries(properties).map(shown)) as typeof properties };
}

/** Without a default the editor would use null, which our schema refuses. */
function emptyDefault(type: unknown): { default?: unknown } {
  if (type === 'array') return { default: [] };
  return type === 'object' ? { default: {} } : {};
}
