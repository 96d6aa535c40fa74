import { CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, type ServerContext } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { clientView } from '#hosts/mcp/call-tool';

const server = (info?: unknown, capabilities?: unknown) =>
  ({ getClientVersion: () => info, getClientCapabilities: () => capabilities }) as Parameters<typeof clientView>[0];
const context = (envelope?: Record<string, unknown>) => ({ mcpReq: { envelope } }) as unknown as ServerContext;

describe('client view', () => {
  it('reads the handshake of older clients', () => {
    expect(clientView(server({ name: 'codex', version: '1.0' }, { elicitation: {} }), context())).toEqual({
      label: 'codex 1.0',
      showsForms: true,
    });
  });

  it('reads the request’s own envelope first', () => {
    const envelope = { [CLIENT_INFO_META_KEY]: { name: 'new', version: '2' }, [CLIENT_CAPABILITIES_META_KEY]: {} };
    expect(clientView(server({ name: 'old', version: '1' }, { elicitation: {} }), context(envelope))).toEqual({
      label: 'new 2',
      showsForms: false,
    });
  });

  it('a client that says nothing has no label; one that lies about itself is shown plainly and shortly', () => {
    expect(clientView(server(), context())).toEqual({ showsForms: false });
    const { label } = clientView(server({ name: `user:root\u202e\n${'x'.repeat(500)}` }), context());
    expect(label).not.toMatch(/[\u202e\n]/);
    expect(label?.length).toBeLessThan(140);
  });

  it.each([
    [{ form: {} }, true],
    [{ form: {}, url: {} }, true],
    [{ url: {} }, false],
    [{}, true],
    [true, false],
    [undefined, false],
  ])('elicitation %j shows forms: %s', (elicitation, shows) => {
    expect(clientView(server(undefined, { elicitation }), context()).showsForms).toBe(shows);
  });
});
