/** What a client says of itself: a label for people and what it can show. Never an identity (any client can claim any name). */
import { CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, type Server, type ServerContext } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonValue } from '#kernel/json';
import { showPlainly } from '#kernel/text';

export interface ClientView {
  readonly label?: string;
  /** Whether it can put a form before a person (`elicitation/create`). */
  readonly showsForms: boolean;
}

/** From the request's own envelope (2026-07-28), else from `initialize` (2025-11-25 and before). */
export function clientView(server: Pick<Server, 'getClientVersion' | 'getClientCapabilities'>, ctx: ServerContext): ClientView {
  const envelope: Readonly<Record<string, unknown>> = ctx.mcpReq.envelope ?? {};
  const info = envelope[CLIENT_INFO_META_KEY] ?? server.getClientVersion();
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  const label = labelOf(info);
  return { ...(label === undefined ? {} : { label }), showsForms: showsForms(capabilities) };
}

function labelOf(info: unknown): string | undefined {
  if (!isJsonObject(info) || typeof info.name !== 'string') return undefined;
  const version = typeof info.version === 'string' ? ` ${info.version}` : '';
  return showPlainly(`${info.name}${version}`, 100);
}

/** `elicitation: {}` is the older way to say `{ form: {} }`; a client that names only `url` shows no forms. */
function showsForms(capabilities: unknown): boolean {
  if (!isJsonObject(capabilities)) return false;
  const elicitation: JsonValue | undefined = capabilities.elicitation;
  if (!isJsonObject(elicitation)) return false;
  return elicitation.form !== undefined || elicitation.url === undefined;
}
