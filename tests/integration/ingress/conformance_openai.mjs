// What the openai package makes of a proxy's answers: PORT FOLDER-WITH-THE-PACKAGE

import { createRequire } from 'node:module';

const [port, folder] = process.argv.slice(2);
const { default: OpenAI } = createRequire(`${folder}/`)('openai');
const baseURL = `http://127.0.0.1:${port}/v1`;
// Its own node-fetch takes whole chunked answers for cut ones on Node 18.
const client = new OpenAI({ baseURL, apiKey: 'secret', maxRetries: 0, timeout: 30_000, fetch });

async function outcome(ask) {
  try {
    return { value: await ask() };
  } catch (error) {
    return { error: error.constructor.name, status: error.status ?? null };
  }
}

function request(more) {
  return { model: 'm', messages: [{ role: 'user', content: 'hello' }], ...more };
}

async function stream(model) {
  let text = '';
  const events = await client.chat.completions.create(request({ model, stream: true }));
  try {
    for await (const event of events) text += event.choices[0].delta.content;
  } catch (error) {
    return { text, cut: true, type: error.error?.type ?? error.type ?? null };
  }
  return { text, cut: false };
}

console.log(
  JSON.stringify({
    models: await outcome(async () => (await client.models.list()).data),
    answer: await outcome(async () => client.chat.completions.create(request())),
    stream: await outcome(() => stream('m')),
    absent: await outcome(() => client.chat.completions.create(request({ model: 'absent' }))),
    broken: await outcome(() => stream('breaks')),
    many: await outcome(async () =>
      (await Promise.all(Array.from({ length: 20 }, () => stream('m')))).length,
    ),
  }),
);
