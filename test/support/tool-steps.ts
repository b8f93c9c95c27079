/** A call of a tool, and what the model is told. */
export type Step = { tool: string; args: Record<string, unknown>; says: RegExp }

/** Every tool once, in an order in which each finds what it needs. `site` is a page of HTML: `<h1>A page</h1>`. */
export function toolSteps(site: string): Step[] {
  return [
    { tool: 'write', args: { file_path: 'a.txt', content: 'one\nneedle\n' }, says: /^Created a\.txt/ },
    { tool: 'read', args: { file_path: 'a.txt' }, says: /\t?needle/ },
    {
      tool: 'edit',
      args: { file_path: 'a.txt', old_string: 'one', new_string: '1' },
      says: /^Edited a\.txt at line 1/,
    },
    { tool: 'glob', args: { pattern: '*.txt' }, says: /^a\.txt$/ },
    { tool: 'grep', args: { pattern: 'need.e' }, says: /^a\.txt:2: needle$/ },
    { tool: 'bash', args: { command: 'cat a.txt; echo bad >&2' }, says: /^1\nneedle\n[\s\S]*bad/ },
    { tool: 'webfetch', args: { url: site }, says: /^# A page$/ },
    { tool: 'todowrite', args: { todos: [{ content: 'Test' }] }, says: /^\[ \] Test$/ },
    { tool: 'todoread', args: {}, says: /^\[ \] Test$/ },
    { tool: 'update_memory', args: { content: 'Use tabs.' }, says: /^Remembered in \.troupe\/memory\.md/ },
    { tool: 'skill', args: { name: 'write-a-test' }, says: /test/i },
    {
      tool: 'task',
      args: { agent: 'explorer', prompt: 'Wait.', background: true },
      says: /^exp-1 \(explorer\) has started/,
    },
    { tool: 'task_send', args: { job: 'exp-1', message: 'Look again.' }, says: /exp-1/ },
    { tool: 'task_wait', args: { jobs: ['exp-1'], timeout_ms: 50 }, says: /./ },
    { tool: 'read_sub_agent', args: { job: 'exp-1' }, says: /Wait\./ },
    { tool: 'task_cancel', args: { job: 'exp-1' }, says: /exp-1/ },
  ]
}
