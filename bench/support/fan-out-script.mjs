export const readTurns = 5

/** `lead` sends `children` explorers in one message, in the foreground; each makes some read turns, another file each, and answers. */
export function fanOutScript(children, turns = readTurns) {
  const task = (n) => ({ tool: 'task', args: { agent: 'explorer', prompt: `Read the files, explorer ${n}.` } })
  const read = (turn) => ({ tool: 'read', args: { file_path: `file-${turn}.txt` } })
  return {
    model: { context: 1_000_000, parameters: '70B' },
    server: { parallel: 0 },
    rules: [
      { when: { agent: 'lead', turn: 1 }, reply: { calls: Array.from({ length: children }, (_, n) => task(n)) } },
      { when: { agent: 'lead' }, reply: { text: 'All are back.' } },
      ...Array.from({ length: turns }, (_, n) => ({
        when: { agent: 'explorer', turn: n + 1 },
        reply: { calls: [read(n + 1)] },
      })),
      { when: { agent: 'explorer' }, reply: { text: 'Read it five times.' } },
    ],
  }
}
