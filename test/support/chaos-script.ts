import type { Script } from './workplace.ts'

const append = (token: string) => ({
  tool: 'bash',
  args: { command: `echo ${token} >> tokens.txt; sleep 0.1; echo did` },
})
const read = (path: string) => ({ tool: 'read', args: { file_path: path } })
/** Made twice, it would leave two lines. */
const edit = (path: string, line: string) => ({
  tool: 'edit',
  args: { file_path: path, old_string: 'END', new_string: `${line}\nEND` },
})
const write = (path: string) => ({ tool: 'write', args: { file_path: path, content: `${path}\n` } })
const task = (agent: string, prompt: string, background: boolean) => ({
  tool: 'task',
  args: { agent, prompt, background },
})

export const chaosFiles = {
  'a.txt': 'END\n',
  'b.txt': 'END\n',
  'c.txt': 'END\n',
  'd.txt': 'END\n',
  'root.txt': 'END\n',
}

/** The last answer when everything has come back. */
export const chaosAnswer = 'all are back'

/**
 * A lead with three children in the background and two in the foreground, one of which has a child of its own; they run
 * commands, edit, write and read. It goes by turns and not by what the results say, so it goes on whatever was
 * interrupted. Each command appends a token of its own to `tokens.txt`.
 */
export const chaosScript: Script = {
  rules: [
    {
      when: { depth: 0, turn: 1 },
      reply: {
        text: 'I send them out.',
        chunkMs: 10,
        calls: [
          task('general', 'worker a', true),
          task('general', 'worker b', true),
          task('explorer', 'looker', true),
          append('root-1'),
          read('root.txt'),
          task('general', 'worker c', false),
          edit('root.txt', 'root-edit'),
        ],
      },
    },
    {
      when: { depth: 0, turn: 2 },
      reply: { calls: [append('root-2'), task('general', 'asker', false), write('root-new.txt')] },
    },
    { when: { depth: 0, results: 3 }, reply: { text: chaosAnswer } },
    { when: { depth: 0 }, reply: { text: 'I wait.' } },
    ...[1, 2].map((depth) => ({
      when: { depth, turn: 1, prompt: 'worker (\\w)' },
      reply: { calls: [append(`{{match.1}}-1`), read('{{match.1}}.txt'), edit('{{match.1}}.txt', '{{match.1}}-edit')] },
    })),
    {
      when: { turn: 2, prompt: 'worker (\\w)' },
      reply: { calls: [write('made-{{match.1}}.txt'), append('{{match.1}}-2')] },
    },
    { when: { depth: 1, turn: 1, prompt: 'looker' }, reply: { calls: [read('a.txt'), read('b.txt')], delayMs: 50 } },
    {
      when: { depth: 1, turn: 1, prompt: 'asker' },
      reply: { calls: [task('general', 'worker d', false), append('asker')] },
    },
    { when: {}, reply: { text: 'finished with {{prompt}}', chunkMs: 20 } },
  ],
}

/** Commands of a run that nothing disturbs. */
export const chaosTokens = ['root-1', 'root-2', 'a-1', 'a-2', 'b-1', 'b-2', 'c-1', 'c-2', 'd-1', 'd-2', 'asker']
