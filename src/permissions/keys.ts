import { compileWildcard } from './wildcard.ts'

/** What rules can be about, in the order in which they are listed to people. */
export const permissionKeys = [
  'bash',
  'read',
  'edit',
  'webfetch',
  'task',
  'skill',
  'mcp',
  'external_directory',
  'claim',
] as const

/** Tools that are judged under another tool's key. */
const covered: Record<string, string> = {
  write: 'edit',
  update_memory: 'edit',
  write_file: 'edit',
  edit_file: 'edit',
  read_file: 'read',
  shell: 'bash',
}

/** The key that a name in a rule means: a canonical one, or a wildcard that matches at least one; else undefined. */
export function findKey(name: string): string | undefined {
  const key = covered[name] ?? name
  return permissionKeys.some(compileWildcard(key)) ? key : undefined
}

/** The same, but one key: no wildcard. */
export function plainKey(name: string): string | undefined {
  const key = findKey(name)
  return permissionKeys.find((known) => known === key)
}
