/** Canonical tool names and what the compact toolset calls them; all others have one name. */
export const compactNames: Readonly<Record<string, string>> = {
  bash: 'shell',
  read: 'read_file',
  edit: 'edit_file',
  write: 'write_file',
  glob: 'list_files',
  todowrite: 'todo',
  task: 'spawn_sub_agent',
}
