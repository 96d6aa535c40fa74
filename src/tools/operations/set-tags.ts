import * as z from 'zod';
import { guestOperationShape, tagsArgument } from '#kernel/arguments';
import { defineTool } from '#kernel/tool';
import { configurationTool } from '../support/set-configuration.ts';

export const setTags = defineTool({
  ...configurationTool,
  name: 'set_tags',
  title: 'Set tags',
  description:
    'Replace the tags of a VM or container of the Proxmox VE cluster. Name all that it is to have; an empty list takes them off. Tags that protect guests are refused. A person approves each call first.',
  rare: true,
  input: z.strictObject({ ...guestOperationShape, tags: tagsArgument }),
});
