// Drives jackd. It hands documents over as text. Its pauseTube sends a line that does not end, and
// waits for ever: here it counts as lacking.

const Jackd = require("jackd");
const { play } = require("./transcript.js");

const text = ({ id, payload }) => [id, payload.toString()];
const figures = (document) =>
  Object.fromEntries(document.trim().split("\n").slice(1).map((line) => line.split(/: (.*)/s)));

async function open(port) {
  const client = new Jackd();
  await client.connect({ host: "127.0.0.1", port });
  return {
    put: (body, priority, delay, ttr) => client.put(body, { priority, delay, ttr }),
    use: (name) => client.use(name),
    reserve: () => client.reserve().then(text),
    "reserve-with-timeout": (seconds) => client.reserveWithTimeout(seconds).then(text),
    "reserve-job": (id) => client.reserveJob(id).then(text),
    delete: (id) => client.delete(id),
    release: (id, priority, delay) => client.release(id, { priority, delay }),
    bury: (id, priority) => client.bury(id, priority),
    touch: (id) => client.touch(id),
    watch: (name) => client.watch(name),
    ignore: (name) => client.ignore(name),
    peek: (id) => client.peek(id).then(text),
    "peek-ready": () => client.peekReady().then(text),
    "peek-delayed": () => client.peekDelayed().then(text),
    "peek-buried": () => client.peekBuried().then(text),
    kick: (count) => client.kick(count),
    "kick-job": (id) => client.kickJob(id),
    stats: () => client.stats().then(figures),
    "stats-job": (id) => client.statsJob(id).then(figures),
    "stats-tube": (name) => client.statsTube(name).then(figures),
    "list-tubes": () => client.listTubes(),
    "list-tube-used": () => client.listTubeUsed(),
    "list-tubes-watched": () => client.listTubesWatched(),
    close: () => client.quit(),
  };
}

play(open);
