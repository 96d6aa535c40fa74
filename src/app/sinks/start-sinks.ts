/** Whether the trail is told elsewhere, by whom, and to which sinks. What tells it is loaded only where there are any. */
import { isForService } from '#files/folder-owner';
import type { Finding } from '#kernel/app';
import { faultMessage } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import type { RequestStore } from '#kernel/ports/request-store';
import type { ToldElsewhere } from '#kernel/ports/sink';
import { english, type Message, say } from '#kernel/text/message';
import { catalog } from '../catalog.ts';
import type { Config } from '../config/config.ts';
import { createApproverReader } from '../config/config-file.ts';
import { finding } from '../finding.ts';
import { type SinkConfig, sinkName } from './sink-schema.ts';

export interface SinkOptions {
  readonly config: Config;
  readonly configFile: string;
  readonly baseDir: string;
  readonly stateDir: string;
  readonly version: string;
  readonly log: Log;
  readonly stays?: boolean;
  readonly service?: unknown;
  checkConfigFile?(file: string): void;
}

const nobody: ToldElsewhere = { wantsStages: false, findings: async () => [], metrics: async () => '', close: async () => undefined };

interface TrailStore {
  readonly audit: AuditLog;
  readonly requests: Pick<RequestStore, 'countPending'>;
}

/** Never rejects: whether a collector can be reached is no condition of a call. */
export async function startSinks(options: SinkOptions, { audit, requests }: TrailStore): Promise<ToldElsewhere> {
  if (options.service !== undefined) return nobody;
  const isService = options.checkConfigFile !== undefined;
  const sinks = isService ? options.config.sinks : machinesOwn(options);
  if (sinks.length === 0) return { ...nobody, findings: async () => (isService ? [] : ignoredFindings(options)) };
  const wantsStages = sinks.some((sink) => sink.type === 'otlp' && sink.signals.includes('traces'));
  const isHolder = options.stays === true && (isService || !isForService(options.stateDir));
  const tools = new Set(catalog.map(({ name }) => name));
  const load = async () => {
    const { tellTrail } = await import('./tell-trail.ts');
    return tellTrail({ ...options, audit, requests, sinks, isService, isHolder, tools });
  };
  // A process that lasts for one call has nothing to tell: what tells it is loaded when `doctor` asks.
  if (!isHolder) return { ...nobody, wantsStages, findings: async () => findingsOf(sinks, load) };
  try {
    return { ...(await load()), wantsStages };
  } catch (thrown) {
    options.log.error(`sinks: ${english(notLoaded(thrown))}`);
    return { ...nobody, findings: async () => findingsOf(sinks, load) };
  }
}

async function findingsOf(sinks: readonly SinkConfig[], load: () => Promise<Pick<ToldElsewhere, 'findings'>>): Promise<readonly Finding[]> {
  try {
    return await (await load()).findings();
  } catch (thrown) {
    const remedy = say`install Banksman whole: \`sinks.cjs\` belongs beside \`cli.cjs\``;
    return sinks.map((sink) => finding(`sink ${sinkName(sink)}`, 'failed', notLoaded(thrown), remedy));
  }
}

function notLoaded(thrown: unknown): Message {
  return say`the trail is told nobody: what tells it cannot be loaded: ${faultMessage(thrown)}`;
}

/**
 * SECURITY: where the trail goes, a workspace must not say. A file that is named for one call (`--config`, also by a project's list of MCP servers),
 * the editor's settings and the environment do not count.
 */
function machinesOwn({ configFile }: SinkOptions): readonly SinkConfig[] {
  try {
    return createApproverReader(configFile)().sinks;
  } catch {
    // It does not fit: whoever needs it says so.
    return [];
  }
}

function ignoredFindings({ config, configFile }: SinkOptions): readonly Finding[] {
  if (config.sinks.length === 0) return [];
  return [finding('sinks', 'warning', say`\`sinks\` counts in ${configFile} alone: the trail is told nobody`, say`write it there`)];
}
