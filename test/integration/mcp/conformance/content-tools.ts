/** The conformance suite's tools that only answer. Names and texts are the suite's (`conformance list --server`, each scenario's page). */
import { setTimeout as delay } from 'node:timers/promises';
import { fromJsonSchema, type JsonSchemaType, type McpServer, type ServerEventBus } from '@modelcontextprotocol/server';
import * as z from 'zod';

/** A red pixel. */
export const pngPixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A WAV header without samples. */
const wavHeader = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

export function text(value: string) {
  return { content: [{ type: 'text' as const, text: value }] };
}

const png = { type: 'image' as const, data: pngPixel, mimeType: 'image/png' };

export function registerContentTools(server: McpServer, bus: ServerEventBus): void {
  registerPlainContent(server);
  registerNotifying(server, bus);
  registerSchemas(server);
}

function registerPlainContent(server: McpServer): void {
  const config = (description: string) => ({ description });
  server.registerTool('test_simple_text', config('text'), () => text('This is a simple text response for testing.'));
  server.registerTool('test_image_content', config('image'), () => ({ content: [png] }));
  server.registerTool('test_audio_content', config('audio'), () => ({
    content: [{ type: 'audio', data: wavHeader, mimeType: 'audio/wav' }],
  }));
  server.registerTool('test_embedded_resource', config('resource'), () => ({
    content: [
      {
        type: 'resource',
        resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' },
      },
    ],
  }));
  server.registerTool('test_multiple_content_types', config('several'), () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      png,
      {
        type: 'resource',
        resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' },
      },
    ],
  }));
  server.registerTool('test_error_handling', config('error'), () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
}

function registerNotifying(server: McpServer, bus: ServerEventBus): void {
  const said = { description: 'sends notifications' };
  const logging = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
  for (const name of ['test_tool_with_logging', 'test_logging_tool']) {
    server.registerTool(name, said, async (ctx) => {
      for (const line of logging) {
        await ctx.mcpReq.log('info', line);
        await delay(50);
      }
      return text('logged');
    });
  }
  server.registerTool('test_tool_with_progress', said, async (ctx) => {
    const { _meta: meta } = ctx.mcpReq;
    const progressToken = meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
      await delay(50);
    }
    return text('progressed');
  });
  server.registerTool('test_trigger_tool_change', said, () => {
    bus.publish({ kind: 'tools_list_changed' });
    return text('changed');
  });
  server.registerTool('test_trigger_prompt_change', said, () => {
    bus.publish({ kind: 'prompts_list_changed' });
    return text('changed');
  });
}

function registerSchemas(server: McpServer): void {
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Tool with JSON Schema 2020-12 features', inputSchema: fromJsonSchema(everyKeyword) },
    () => text('ok'),
  );
  server.registerTool(
    'test_header_parameter',
    {
      description: 'takes a parameter from a header, too',
      inputSchema: z.strictObject({ greeting: z.string().meta({ 'x-mcp-header': 'Greeting' }) }),
    },
    ({ greeting }) => text(greeting),
  );
}

/** As text: `then` is a keyword here, and an object with such a key is a thenable. */
const everyKeyword = JSON.parse(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": { "$anchor": "addressDef", "type": "object", "properties": { "street": { "type": "string" }, "city": { "type": "string" } } }
  },
  "properties": {
    "name": { "type": "string" },
    "address": { "$ref": "#/$defs/address" },
    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
    "phone": { "type": "string" },
    "email": { "type": "string" }
  },
  "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] },
  "else": { "required": ["email"] },
  "additionalProperties": false
}`) as JsonSchemaType;
