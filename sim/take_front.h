// Takes the first element of a queue. A queue that is empty then is as new: where it stood in its blocks of memory would decide which code
// the next elements pass through, and an engine that watches an undone machine would see what earlier inputs did.
#pragma once

#include <deque>
#include <utility>

namespace sim {

// Precondition: the queue is not empty.
template <typename T>
T take_front(std::deque<T>& queue) {
    T item = std::move(queue.front());
    queue.pop_front();
    if (queue.empty()) queue = std::deque<T>();
    return item;
}

}  // namespace sim
