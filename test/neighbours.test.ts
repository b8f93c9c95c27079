import { expect, test } from 'vitest'
import { checkInvariants } from './support/check-invariants.ts'
import { createModelStage, done, line, said, sayCalls, sayText, startModelServer } from './support/model-server.ts'
import { createStage, createWorkplace, ofType, type Script } from './support/workplace.ts'

const explorer = (prompt: string) => ({ tool: 'task', args: { agent: 'explorer', prompt, background: true } })

test('cancelling one of two children that stream on one thread ends its request and not the other (C68, C81)', async () => {
  const server = await startModelServer((response, { depth, session, turn, messages }) => {
    if (depth === 1) {
      let said20 = 0
      const timer = setInterval(() => {
        said20 += 1
        response.write(line(said({ content: `${said20} ` })))
        if (said20 === 40 && session.endsWith('exp-2')) response.end(line(done))
      }, 50)
      response.once('close', () => clearInterval(timer))
    } else if (turn === 1) {
      const call = ({ args }: ReturnType<typeof explorer>): [string, unknown] => ['task', args]
      sayCalls(response, call(explorer('A')), call(explorer('B')))
    } else if (turn === 2) setTimeout(() => sayCalls(response, ['task_cancel', { job: 'exp-1' }]), 700)
    else sayText(response, messages.findLast(({ tool_name }) => tool_name === 'sub_agent_result')?.content ?? 'waiting')
  })
  const { play, events, troupe, workplace } = await createModelStage(server, { workers: 1 })
  const finished = await play('go')
  await troupe.close()
  await server.asked.find(({ session }) => session.endsWith('exp-1'))?.closed
  expect(finished.jobs.map(({ alias, state }) => `${alias} ${state}`)).toEqual(['exp-1 cancelled', 'exp-2 completed'])
  expect(finished.text.trim()).toBe(Array.from({ length: 40 }, (_, n) => n + 1).join(' '))
  expect(ofType(events, 'worker.died')).toEqual([])
  await checkInvariants({ dataDir: workplace.dataDir, root: finished.root, pids: [process.pid], jobs: finished.jobs })
})

test('the same call in two sessions is no loop of either (C66)', async () => {
  const grep = { calls: [{ tool: 'grep', args: { pattern: 'x' } }] }
  const script: Script = {
    rules: [
      { when: { depth: 0, turn: 1 }, reply: { calls: [explorer('A'), explorer('B')] } },
      { when: { depth: 1, turn: '<=2' }, reply: grep },
      { when: { depth: 1 }, reply: { text: 'R' } },
      { when: { results: 2 }, reply: { text: 'both' } },
      { when: {}, reply: { text: 'waiting' } },
    ],
  }
  const { play, events } = await createStage(createWorkplace(), script)
  expect((await play('go')).text).toBe('both')
  expect(ofType(events, 'limit.reached')).toEqual([])
  expect(ofType(events, 'tool.started').filter(({ tool }) => tool === 'grep')).toHaveLength(4)
})

test('a child that repeats a failing call for ever is warned and stopped, and its parent goes on (F52)', async () => {
  const script: Script = {
    rules: [
      {
        when: { depth: 0, turn: 1 },
        reply: { calls: [{ tool: 'task', args: { agent: 'explorer', prompt: 'look' } }] },
      },
      { when: { depth: 1 }, reply: { text: 'again', calls: [{ tool: 'read', args: { file_path: 'none.txt' } }] } },
      { when: {}, reply: { text: 'child: {{last}}' } },
    ],
  }
  const { play, events } = await createStage(createWorkplace(), script)
  const finished = await play('go')
  expect(finished).toMatchObject({ status: 'done', jobs: [{ state: 'limit', delivered: true }] })
  expect(finished.text).toContain('reached a limit')
  expect(ofType(events, 'tool.started').filter(({ tool }) => tool === 'read').length).toBeLessThanOrEqual(4)
})
