/** `/cluster/options` (`datacenter.cfg`). Tags that are registered there take `Sys.Modify` to be given or taken away. */
import { badParameters } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requireQuorum } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import { splitList } from '../formats.ts';
import { readProperties } from '../parameter.ts';

const write = operation('PUT /cluster/options', change);

export const optionMethods: readonly ApiMethod[] = [operation('GET /cluster/options', read), write];

/** Every tag in use may be given, besides those that are registered. */
function read({ cluster }: ApiCall): unknown {
  const { state } = cluster;
  const registered = (state.options.get('registered-tags') ?? []) as readonly string[];
  const used = [...state.guests.values()].flatMap((guest) => splitList(String(guest.config.get('tags') ?? '')));
  const allowed = [...new Set(used)].filter((tag) => !registered.includes(tag)).sort();
  return { description: '', ...Object.fromEntries(state.options), 'allowed-tags': allowed };
}

const numeric = new Set(['max_workers', 'migration_unsecure']);

function change(call: ApiCall): null {
  const { cluster, parameters } = call;
  requireQuorum(call);
  const { options } = cluster.state;
  for (const name of parameters.list('delete')) {
    if (write.parameters?.[name] === undefined || name === 'delete') throw badParameters({ delete: `unknown option '${name}'` });
    options.delete(name);
  }
  for (const name of parameters.names()) if (name !== 'delete') options.set(name, stored(name, parameters.text(name) ?? ''));
  return null;
}

/** Property strings are shown as objects, tags as a list. */
function stored(name: string, text: string): unknown {
  if (name === 'registered-tags') return [...new Set(splitList(text.toLowerCase()))].sort();
  const spec = write.parameters?.[name];
  if (numeric.has(name)) return Number(text);
  if (spec?.properties === undefined) return text;
  const { values } = readProperties(spec.properties, text, name);
  const list = values['user-allow-list'];
  return list === undefined ? values : { ...values, 'user-allow-list': splitList(list) };
}
