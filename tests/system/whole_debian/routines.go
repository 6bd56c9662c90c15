// A thousand goroutines and a mutex, a child, a timer.
package main

import (
	"fmt"
	"os/exec"
	"sync"
	"time"
)

func main() {
	var all sync.WaitGroup
	var lock sync.Mutex
	sum := 0
	for i := 0; i < 1000; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			lock.Lock()
			sum += i
			lock.Unlock()
		}(i)
	}
	all.Wait()
	child, _ := exec.Command("echo", "child").Output()
	fmt.Printf("%d\n%s", sum, child)
	<-time.After(50 * time.Millisecond)
	fmt.Println("timer")
}
