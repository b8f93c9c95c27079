import type { ServerResponse } from 'node:http'
import { untilAborted } from '../pause.ts'
import type { Answer } from './answer.ts'
import type { Dialect, Spoken } from './dialect.ts'
import type { Admission, Imitation } from './imitation.ts'
import { playAnswer, type Step } from './play.ts'

/** An admitted request and how to answer it. `signal` aborts when the client goes away. */
export type Service = {
  answer: Answer
  admission: Admission
  imitation: Imitation
  dialect: Dialect
  stream: boolean
  response: ServerResponse
  signal: AbortSignal
}

/** Plays an answer over HTTP, its faults included. Rejects with the signal's reason when the client goes away. */
export async function serveAnswer(service: Service): Promise<void> {
  const { answer, dialect, response, signal } = service
  if (answer.fault?.hang) await untilAborted(signal)
  const writer = service.stream ? createStreamWriter(service) : createWholeWriter(service)
  const ending = await playAnswer(answer, service.imitation, writer, signal)
  if (ending === 'done') return writer.end()
  writer.flush()
  if (ending === 'stall') await untilAborted(signal)
  if (ending === 'garbage') response.end(dialect.garbage)
  else response.write('', () => response.destroy())
}

type Writer = { step(step: Step): void; flush(): void; end(): void }

/** What is said without a pause in between leaves in one piece. */
function createStreamWriter({ answer, admission, dialect, response }: Service): Writer {
  let waiting = ''
  const usage = { ...answer.usage, inputTokens: admission.promptTokens }
  response.setHeader('content-type', dialect.contentType)
  return {
    step: (step) => {
      waiting += dialect.step(step)
    },
    flush() {
      if (waiting !== '') response.write(waiting)
      waiting = ''
    },
    end: () => void response.end(waiting + dialect.end(usage, answer.finish, answer.calls.length > 0)),
  }
}

function createWholeWriter({ answer, admission, dialect, response }: Service): Writer {
  const said: Spoken = { text: '', thinking: '', calls: [] }
  const usage = { ...answer.usage, inputTokens: admission.promptTokens }
  response.setHeader('content-type', 'application/json')
  return {
    step(step) {
      if (step.type === 'calls') said.calls.push(...step.calls)
      else said[step.type] += step.text
    },
    flush: () => {},
    end: () => void response.end(dialect.whole(said, usage, answer.finish)),
  }
}
